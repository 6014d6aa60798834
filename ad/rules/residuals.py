"""What the tape keeps of the arrays that an operation met: of those whose numbers no rule reads, only shape and dtype.

Rules are functions of all arrays and the result, and most read a few of them: the slope of sin needs x, that of exp the result,
and that of a sum only the shape. Which, is seen from the rules themselves; so `sum(sin(x))` keeps x and nothing else. It
matters for large arrays, and costs time for small ones, which are kept as they are.
"""

import functools
from typing import Any

import numpy as np

from ...dispatch import snapshot
from ...dsl import add
from .buffer_reuse import computed, times_stored
from .ownership import BY_CALLER, references, writeable
from .reads import read

LARGE = 4096  # elements, from which on memory outweighs what it takes to save it


def leaner(generic, places, count):
    """A function (xs, y) -> (xs, y) that leaves out what the reverse rules for the arrays at `places` do not read.

    count: how many arrays the operation is called with.
    """
    arrays, result = read(generic, places, count)
    if result and all(arrays):
        return lambda xs, y: (xs, y)
    keep = tuple(arrays)

    def lean(xs, y):
        kept = tuple([x if k else light(x) for x, k in zip(xs, keep, strict=True)])
        return kept, y if result else light(y)

    return lean


def light(x):
    """x, or in place of a large NumPy array one of its shape and dtype that takes no memory: NaN everywhere."""
    if parts_of(x):
        return like(x, [light(part) for part in parts_of(x)])
    if type(x) is not np.ndarray or x.size < LARGE:
        return x
    return np.ndarray(x.shape, x.dtype, _nothing(x.dtype), 0, (0,) * x.ndim)


def added(x, y, new):
    """x + y, in x's memory if x is a large NumPy array that is `new`."""
    if new and type(x) is type(y) is np.ndarray and x.size >= LARGE and x.shape == y.shape and x.dtype == y.dtype:
        return np.add(x, y, x)
    return computed(add, x, y)


def parts_of(x) -> Any:
    """A number and its tangent, of a value of forward mode: linear functions act on each; () for other values."""
    names = getattr(type(x), "halves", None)
    if names is None:
        return ()
    found = getattr(x, names[0]), getattr(x, names[1])
    return () if found[1] is None else found


def like(x, parts):
    """A value of x's layer and run with these parts."""
    y = snapshot(x)
    for name, part in zip(type(x).halves, parts, strict=True):
        setattr(y, name, part)
    return y


def elements(x):
    """Count the elements of a NumPy array, with or without a tangent; 0 for all else, which is kept as it is."""
    while type(x) is not np.ndarray:
        names = getattr(type(x), "halves", None)
        if names is None:
            return 0
        x = getattr(x, names[0])
    return x.size


@functools.cache
def _nothing(dtype):
    return np.full((), np.nan if dtype.kind in "fc" else 0, dtype).tobytes()


def total(cts, own, place, c):
    """The sum of the cotangent at a place so far and a further one: in the array that the walk made for it, if it has."""
    known = cts[place]
    if place < own.tangents and type(known) is type(c) and parts_of(known) and parts_of(c):
        return _with_tangent_of(known, own, place, c)
    if elements(known) < LARGE or type(known) is not type(c):
        return add(known, c)
    if known is own.get(place):
        pairs = [(known, c)] if type(c) is np.ndarray else list(zip(parts_of(known), parts_of(c), strict=True))
        if all([type(a) is type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape for a, b in pairs]):
            for a, b in pairs:
                np.add(a, b, a)
            return known
    # the walk has just got it from a rule
    new = type(c) is np.ndarray and references(c) == BY_CALLER + times_stored(c) and writeable(c)
    own[place] = made = added(c, known, new)
    return made


def _with_tangent_of(known, own, place, c):
    """The sum of two values with tangents, of which the tangent alone is asked for."""
    (number, so_far), (_, further) = parts_of(known), parts_of(c)
    new = known is own.get(place)
    made = own[place] = like(known, (number, added(so_far, further, new)))
    return made
