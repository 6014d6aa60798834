"""Whose code is running: the user's line that led into the library, for messages and warnings."""

import functools
import sys
import warnings
from pathlib import Path

_package = str(Path(__file__).parent.parent / "_")[:-1]  # as the files of its code name it, links and all; with the separator


def caller():
    """(file, line) of the innermost frame outside the library, or None, for messages."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return None


_warned = {}  # source file -> what the warnings module remembers of it


def warn(text, category):
    """Warn of the line of the user's code that led here, however deep in the library that is."""
    place = caller()
    if place is None:
        warnings.warn(text, category, stacklevel=2)
    else:
        warnings.warn_explicit(text, category, *place, registry=_warned.setdefault(place[0], {}))


@functools.cache
def is_library(file):
    """Return whether a source file, as code objects name it, is the library's. Tests and tutorials lie below its folder in a
    checkout but are the user's code."""
    if file.startswith("<generic "):
        return True
    return file.startswith(_package) and not file[len(_package) :].startswith(("tests", "tutorials", ".venv"))
