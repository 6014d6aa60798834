"""Whether somebody else holds an array: then it may not be written over. CPython's count of references tells."""

import sys

import numpy as np

count = getattr(sys, "getrefcount", lambda x: -1)


def _of_argument(x):
    return count(x)


def _of_variable():
    x = np.empty(0)
    return _of_argument(x)


# what a function counts of its own argument, as measured, since it is a matter of the interpreter's version:
ALONE = _of_argument(np.empty(0)) if hasattr(sys, "getrefcount") else None  # nobody else holds it
BY_CALLER = _of_variable() if hasattr(sys, "getrefcount") else None  # only a variable of the function that called


class Own(dict):
    """What a walk back made itself and may write to: place -> cotangent.

    tangents: of so many places, the first ones, the cotangents' tangents alone are asked for; the numbers may be anything.
    """

    tangents = 0


def writeable(x):
    """Whether an array has memory of its own that may be written to."""
    flags = x.flags
    return flags.owndata and flags.writeable
