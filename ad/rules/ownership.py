"""Whether somebody else holds an array: then it may not be written over. CPython's count of references tells."""

import sys
import weakref

import numpy as np

COUNTS = hasattr(sys, "getrefcount")
references = sys.getrefcount if COUNTS else lambda x: -1


def _of_argument(x):
    return references(x)


def _of_variable():
    x = np.empty(0)
    return _of_argument(x)


# what a function counts of its own argument, as measured, since it is a matter of the interpreter's version; where references
# are not counted a number that never comes out, so that nothing is written over:
ALONE = _of_argument(np.empty(0)) if COUNTS else -100  # nobody else holds it
BY_CALLER = _of_variable() if COUNTS else -100  # only a variable of the function that called


class Own(dict):
    """The cotangents that a walk back made itself and may write to, by place.

    tangents: of so many places, the first ones, the cotangents' tangents alone are asked for; the numbers may be anything.
    """

    tangents = 0


def writeable(x):
    """Return whether an array has memory of its own that may be written to; not if it is in a cache that does not hold it."""
    flags = x.flags
    return flags.owndata and flags.writeable and not weakref.getweakrefcount(x)
