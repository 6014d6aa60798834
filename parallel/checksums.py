"""Whether all ranks call a map with the same arguments: a checksum of each array, compared when the map starts.

Outside of a map everything is replicated, and nothing else would notice a rank that has drawn other random numbers or
read another file: the lanes of different inputs would simply be mixed.
"""

import functools
import types
import zlib

import numpy as np

from ..dispatch import HostArray, Layer, isa, tree

WHOLE = 1 << 16  # bytes of an array up to which all of it is looked at
SAMPLE = 4096  # elements of a larger one that are


def marks(f, given):
    """Pairs (what, checksum) of the arguments of a map and of the arrays that the closure of f holds, in order.

    given: (args, kwargs). what: for example "argument 0['w'][1]", "the closure variable 'w'". Python integers of a closure
    count, or say which rank this is, and may differ.
    """
    args, kwargs = given
    found = [(f"argument {i}{p}", x) for i, arg in enumerate(args) for p, x in _leaves(arg)]
    found += [(f"argument {k}{p}", x) for k, arg in sorted(kwargs.items()) for p, x in _leaves(arg)]
    for name, value in _held(f):
        found += [(f"the closure variable {name!r}{p}", x) for p, x in _leaves(value) if not isa(x, (int, np.integer))]
    return [(what, mark) for what, x in found if (mark := checksum(x)) is not None]


def differing(found):
    """What differs between the ranks, from the pair (number of lanes, marks) of each; None if nothing does."""
    size, first = found[0]
    for other_size, other in found:
        for mark, its in zip(first, other, strict=False):
            if mark != its:
                return mark[0]
        if other_size != size:
            return "the number of lanes"
        if len(other) != len(first):
            return "the number of arrays among the arguments"
    return None


def checksum(x):
    """A number for the elements, shape and dtype of a host array or number, below all layers; None for others."""
    while isinstance(x, Layer):
        x = x.below
    if not isinstance(x, HostArray):
        return None
    a = np.asarray(x)
    if a.dtype.hasobject:
        return None
    kind = zlib.crc32(f"{a.dtype}{a.shape}".encode())
    if a.nbytes > WHOLE:
        a = a.flat[np.linspace(0, a.size - 1, SAMPLE).astype(np.intp)]
    return zlib.crc32(a.tobytes(), kind)


def _leaves(x):
    leaves = tree.leaves(x)
    return [("", x)] if len(leaves) == 1 and leaves[0] is x else zip(tree.paths(x), leaves, strict=True)


def _held(f):
    """Pairs (name, value) of what a function itself holds, not of the functions that it calls."""
    if isinstance(f, functools.partial):
        return [*((f"{i} of partial", x) for i, x in enumerate(f.args)), *sorted(f.keywords.items()), *_held(f.func)]
    f = f.__func__ if isinstance(f, types.MethodType) else f
    if not isinstance(f, types.FunctionType):
        return []
    held = []
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            held.append((name, cell.cell_contents))
        except ValueError:  # not assigned yet
            continue
    return held
