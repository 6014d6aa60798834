"""The state of what a function reads from outside, as part of the key by which its calls are looked up."""

import dataclasses
import functools
import types
import weakref
from collections import defaultdict, deque

import numpy as np

from ...dispatch import Container, Layer, isa, tree
from ..avals import aval_of
from ..layers.batching import lanes_of
from .contents import BUFFERS, SETS, WRAPPERS, Same, bits, holds, wrapped
from .globals import Search
from .statics import of_container


class Reads:
    """One way of reading: `read(*objects)` is what is there now, a tuple.

    objects: the arguments that are no arrays, whose attributes f reads. places, paths: which places these are; labels: what
    users call them. trees: kind of call -> Tree. eager: None, or why f runs eagerly, and what to do about it. codes, names,
    readers: what `Search` found of code, of names and of who reads a variable; caches: the numbers of places that cached
    properties fill; foreign: f may call code of a library that cannot be seen. adopts: whether it is worth trying to trace a
    copy of f, see `Adoption`.
    """

    def __init__(self, f, objects=()):
        found = Search(f, objects)
        self.places, self.read, self.trees = frozenset(found.places), found.reader(), {}
        self.labels, self.eager = [found.labels[path] for path in found.places], found.doubt
        self.codes, self.names = list(found.codes), found.resolved
        self.paths, self.readers, self.adopts = list(found.places), found.readers, True
        self.foreign = found.foreign or found.whole
        self.caches = {i for i, path in enumerate(found.places) if path in found.caches}
        self.space, self.writing = found.space, found.writing()

    def write(self, i, new, objects):
        """Put a value at the place of this number."""
        exec(self.writing, self.space)
        self.space["write"](i, new, *objects)


def state(values):
    """A hashable stand-in of what was read, and the arrays in it: numbers and text count by value, arrays by shape and
    dtype and by which of them are one, containers by their contents, all else by identity."""
    arrays = []
    return tuple([_state_of(v, arrays) for v in values]), arrays


def _state_of(value, arrays):
    kind = _kind(type(value))
    if kind == "constant":
        return exact(value)
    if kind == "object":
        return Same(value)
    if kind == "held":
        return _contents_of(value, arrays)
    if kind == "array":
        return _array(value, arrays)
    if kind == "number":
        return type(value), value.tobytes()
    if kind == "method":
        return Same(value.__func__), Same(value.__self__)
    return value


@functools.lru_cache(1024)
def _kind(cls):
    """Return the way in which values of a class count."""
    if cls is Same:
        return "itself"
    if issubclass(cls, (type(None), bool, int, float, complex, str, bytes)):
        return "constant"
    if issubclass(cls, np.generic):
        return "number"
    if issubclass(cls, (np.ndarray, Layer)):
        return "array"
    if cls is types.MethodType:
        return "method"
    held = holds(cls) or issubclass(cls, Container) or dataclasses.is_dataclass(cls)
    return "held" if held else "object"


def _array(value, arrays):
    place = next((i for i, x in enumerate(arrays) if x is value), len(arrays))
    arrays.append(value)
    if isinstance(value, Layer):
        return aval_of(value), place, tuple(lanes_of(value).items())
    more = ()
    if type(value) is not np.ndarray:  # a mask, say
        more = tuple([_state_of(v, arrays) for v in getattr(value, "__dict__", {}).values()])
    if value.dtype.kind == "O":
        more = more, _state_of(value.ravel().tolist(), arrays)
    return aval_of(value), place, type(value), value.strides, more


def _contents_of(value, arrays):
    """The same for a container, by what it holds."""
    if type(value) in (list, tuple):
        return type(value), *[_state_of(v, arrays) for v in value]
    if isinstance(value, SETS):
        return type(value), frozenset([_state_of(v, arrays) for v in value])
    if isinstance(value, BUFFERS):
        return bits(value)
    if isinstance(value, WRAPPERS):
        return type(value), _state_of(wrapped(value), arrays)
    if isinstance(value, dict):
        default = Same(value.default_factory) if isinstance(value, defaultdict) else None
        return type(value), default, *[(_state_of(k, arrays), _state_of(v, arrays)) for k, v in value.items()]
    if isinstance(value, (list, tuple, deque)):
        return type(value), value.maxlen if isinstance(value, deque) else None, *[_state_of(v, arrays) for v in value]
    leaves, structure = tree.flatten(value)
    if structure is tree.LEAF:
        return Same(value)
    structure = of_container(value, structure) if isa(value, Container) else structure
    return (structure, *[_state_of(v, arrays) for v in leaves])


def label_of(x, reads, values):
    """Return the name by which users know the place where an array was read."""
    holding = [label for v, label in zip(values, reads.labels, strict=True) if any([y is x for y in state((v,))[1]])]
    return holding[0] if holding else "an array"


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
