"""Which operation of ours stands for the function of SciPy that asks a followed value for a plain array.

SciPy's compiled code follows nothing, and its functions say so as late as at `np.asarray`; the error names the operation.
"""

import inspect
import sys
import types

from ...dispatch.callers import is_library
from ..card import operations

OTHERWISE = {"cho_factor": "polyad.linalg.cholesky and polyad.linalg.cho_solve", "lu_factor": "polyad.linalg.lu"}
LANGUAGE = __name__.rsplit(".", 2)[0]  # polyad.dsl
HOMES = ("linalg", "fft", "random")


def instead():
    """The name of ours for the function of SciPy that is under way, the outermost that has one; None if there is none."""
    frame, names = sys._getframe(1), []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("scipy.sparse."):
            return None  # products of sparse matrices, which ours do not take
        if module.startswith("scipy."):
            names += _names_in_frame(frame)
        elif not is_library(frame.f_code.co_filename) and not module.startswith("numpy") and names:
            break  # whoever called it
        frame = frame.f_back
    for name in reversed(names):
        found = OTHERWISE.get(name) or _public(name)
        if found:
            return found
    return None


def _names_in_frame(frame):
    """The names of the functions that a frame carries out: its own, and one that a decorator has around it."""
    held = frame.f_locals.values() if frame.f_code.co_flags & inspect.CO_NESTED else []
    theirs = [v for v in held if isinstance(v, types.FunctionType) and v.__module__.startswith("scipy.")]
    return [frame.f_code.co_name, *[v.__name__ for v in theirs]]


def _public(name):
    """A function of ours by its full name, or None."""
    language = sys.modules[LANGUAGE]
    for home in HOMES:
        if name in getattr(sys.modules.get(f"{LANGUAGE}.{home}"), "__all__", ()):
            return f"polyad.{home}.{name}"
    return f"polyad.{name}" if name in operations and hasattr(language, name) else None
