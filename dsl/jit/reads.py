"""The state of what a function reads from outside, as part of the key by which its calls are looked up."""

import types
import weakref
from collections import deque

import numpy as np

from ...dispatch import Container, Layer, isa, tree
from ..avals import aval_of
from ..batching import lanes_of
from .search import Same, Search, is_constant


class Reads:
    """One way of reading: `read(*objects)` is what is there now, a tuple.

    objects: the arguments that are no arrays, whose attributes f reads. places: which places these are. trees: kind of call
    -> Tree.
    """

    def __init__(self, f, objects=()):
        found = Search(f, objects)
        self.places, self.read, self.trees = frozenset(found.places), found.reader(), {}


def state(values):
    """A hashable stand-in of what was read, and the arrays in it: numbers and text count by value, arrays by shape and
    dtype and by which of them are one, containers by their contents, all else by identity."""
    arrays = []
    return tuple([_state(v, arrays) for v in values]), arrays


def _state(value, arrays):
    if is_constant(value):
        return exact(value)
    if isa(value, np.generic):
        return type(value), value.tobytes()
    if isa(value, (np.ndarray, Layer)):
        place = next((i for i, x in enumerate(arrays) if x is value), len(arrays))
        arrays.append(value)
        more = tuple(lanes_of(value).items()) if isinstance(value, Layer) else (type(value), value.strides)
        return aval_of(value), place, more
    if isinstance(value, types.MethodType):
        return Same(value.__func__), Same(value.__self__)
    if isinstance(value, (set, frozenset)):
        return set, frozenset([_state(v, arrays) for v in value])
    if isinstance(value, deque):
        return deque, *[_state(v, arrays) for v in value]
    if isinstance(value, (list, dict, tuple, Container)):
        leaves, structure = tree.flatten(value)
        if structure is not tree.LEAF:
            return structure, *[_state(v, arrays) for v in leaves]
    return value if type(value) is Same else Same(value)


def view_of(x, arrays):
    """(number, (offset in bytes, shape, strides in bytes)) for an array that is a view of one of these; None if it is not."""
    owner = x
    while isa(owner.base, np.ndarray):
        owner = owner.base
        for i, a in enumerate(arrays):
            if a is owner:
                offset = x.__array_interface__["data"][0] - a.__array_interface__["data"][0]
                return (
                    (i, (offset, x.shape, x.strides)) if x.dtype == a.dtype and a.flags.c_contiguous and offset >= 0 else None
                )
    return None


def looked_up(arrays, place):
    """The array at a place: one of those that are read from outside, or a view of it."""
    i, view = place
    return arrays[i] if view is None else np.ndarray(view[1], arrays[i].dtype, arrays[i], view[0], view[2])


def exact(value):
    """A constant as a key: 1, 1.0 and True are three, and so are 0.0, -0.0 and NaN."""
    if isinstance(value, tuple):
        return tuple, *[exact(v) for v in value]
    if isa(value, float) and not (value < 0 or value > 0) or isa(value, complex):
        return type(value), repr(value)
    return type(value), value


class Held:
    """An object by its identity, which it does not keep alive if that can be helped."""

    __slots__ = ("id", "value")

    def __init__(self, x):
        self.id = id(x)
        try:
            self.value = weakref.ref(x)
        except TypeError:
            self.value = lambda: x

    def __hash__(self):
        return self.id

    def __eq__(self, other):
        return type(other) is Held and other.id == self.id and other.value() is self.value() is not None

    @property
    def gone(self):
        return self.value() is None
