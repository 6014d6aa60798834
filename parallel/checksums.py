"""Whether all ranks call a map with the same arguments and get the same results: a checksum of each array.

Outside of a map everything is replicated, and nothing else would notice a rank that has drawn other random numbers or
read another file: the lanes of different inputs would simply be mixed.
"""

import functools
import types
import zlib

import numpy as np

from ..dispatch import HostArray, Layer, isa, tree

BLOCK = 1 << 16  # words of 8 bytes whose sums, along the rows and the columns of a square, stand for them


def marks(f, given):
    """Triples (what, checksum, layers) of the arguments of a map and of the arrays that the closure of f holds, in order.

    given: (args, kwargs). what: for example "argument 0['w'][1]", "the closure variable 'w'". layers: of which transformations
    it is a value. Python integers of a closure count, or say which rank this is, and may differ.
    """
    args, kwargs = given
    found = [(f"argument {i}{p}", x) for i, arg in enumerate(args) for p, x in _leaves(arg)]
    found += [(f"argument {k}{p}", x) for k, arg in sorted(kwargs.items()) for p, x in _leaves(arg)]
    for name, value in _held(f):
        found += [(f"the closure variable {name!r}{p}", x) for p, x in _leaves(value) if not isa(x, (int, np.integer))]
    return [(what, mark, layers(x)) for what, x in found if (mark := checksum(x)) is not None or isinstance(x, Layer)]


def differing(found):
    """What differs between the ranks, from the marks of each; None if nothing does."""
    first = found[0]
    for other in found:
        for mark, its in zip(first, other, strict=False):
            if mark[0] != its[0]:
                return "the number of arrays among the arguments"
            if mark[1] != its[1]:
                return mark[0]
            if mark != its:
                return f"what follows {mark[0]} (a derivative, a map, a trace)"
    return None


def checksum(x):
    """A number for the elements, shape and dtype of a host array, number or text, below all layers; None for others."""
    while isinstance(x, Layer):
        x = x.below
    if isinstance(x, (str, bytes)):
        return zlib.crc32(repr(x).encode())
    if not isinstance(x, HostArray):
        return None
    a = np.asarray(x)
    if a.dtype.hasobject:
        return None
    return _of_bytes(np.ascontiguousarray(a).reshape(-1).view(np.uint8), zlib.crc32(f"{a.dtype}{a.shape}".encode()))


def _of_bytes(a, start):
    """A checksum of all bytes that depends on their order: of large arrays by sums, which are as fast as memory."""
    whole = len(a) // (8 * BLOCK) * 8 * BLOCK
    squares = a[:whole].view(np.uint64).reshape(-1, 1 << 8, BLOCK >> 8)
    for square in squares:
        start = zlib.crc32(square.sum(axis=0), zlib.crc32(square.sum(axis=1), start))
    return zlib.crc32(a[whole:], start)


def layers(x):
    """The layers of a value as pairs (depth, kind), outermost first."""
    found = []
    while isinstance(x, Layer):
        found.append((x.depth, type(x).__mro__[1].__name__))
        x = x.below
    return tuple(found)


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
