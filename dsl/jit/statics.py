"""What arguments and arrays from outside hold beside their leaves: the static attributes of array types, of dataclasses and of
other nodes of trees. Text, numbers and types are part of the key as they are; what can be changed counts by its contents at
each call.
"""

import types
from collections import OrderedDict, defaultdict, deque
from functools import partial

import numpy as np

from ...dispatch import Container, Layer, isa
from .contents import BUFFERS, SETS, WRAPPERS, Same, bits, holds, wrapped
from .impure import ARGUMENT, Doubt, changing
from .libraries import plain
from .places import own, slots_of
from .type_methods import reading

CALLABLES = (types.FunctionType, types.MethodType, partial)
CONTAINERS = (type(None), list, tuple, dict, OrderedDict, defaultdict, deque)  # whose data is no static attribute
MAX_PARTS = 2000  # parts that are compared


def changeable(structure):
    """The static attributes in a structure of arguments that may be changed between calls, and the methods of its array types
    that read data outside."""
    found = []

    def node(kind, data, children):
        if kind not in CONTAINERS:
            found.extend([x for x in (data if type(data) is tuple else (data,)) if not plain(x)])
            found.extend(reading(kind))

    structure.walk(range(structure.num_leaves), node, None)
    return found


def key_of(structure):
    """A structure by the contents of its static attributes, to be compared with a later one, and the functions through which
    more is read: those among these, and methods of its array types. Raises Doubt."""
    look, methods = Contents(), {}

    def node(kind, data, children):
        if kind not in CONTAINERS:
            methods.update(dict.fromkeys(reading(kind)))
        return kind, look.of(data), tuple(children)

    return structure.walk(range(structure.num_leaves), node, lambda leaf: 0), [*look.functions, *methods]


def of_container(x, structure):
    """The structure of an array as a key, by the contents of static attributes that may be changed. Raises Doubt."""
    one = structure.num_nodes - structure.num_leaves == 1  # no array in an array
    return structure if one and not x.static or all(map(plain, _statics(x))) else key_of(structure)[0]


def _statics(x):
    """The static attributes of an array, and of those among its leaves."""
    for name in x.static:
        yield getattr(x, name)
    for name in x.leaves:
        leaf = getattr(x, name)
        if isa(leaf, Container):
            yield from _statics(leaf)


class Contents:
    """One look at values. functions: those met, whose code may read more."""

    def __init__(self):
        self.functions, self.count, self.around = [], 0, []

    def of(self, value):
        """A hashable stand-in of all that a value holds."""
        self.count += 1
        if self.count > MAX_PARTS:
            raise Doubt(f"has an argument or array whose static attributes hold more than {MAX_PARTS} values", ARGUMENT)
        if plain(value):
            return _exact(value)
        if id(value) in self.around:
            return "around", self.around.index(id(value))
        self.around.append(id(value))
        try:
            return self._inside(value)
        finally:
            self.around.pop()

    def _inside(self, value):
        kind = type(value)
        if isa(value, CALLABLES):
            self.functions.append(value)
            return Same(value) if kind is types.FunctionType else tuple(map(self.of, _parts_of(value)))
        if isa(value, np.ndarray):
            numbers = self.of(value.tolist()) if value.dtype.kind == "O" else value.tobytes()
            return kind, value.dtype, value.shape, value.strides, numbers, self._attributes(value)
        if isa(value, Layer):
            return Same(value)
        if holds(kind):
            return kind, self._held(value), self._attributes(value)
        found = changing(value)
        if found is not None:
            raise Doubt(f"has a static attribute of type {kind.__name__}, which {found[0]}", found[1])
        attributes = self._attributes(value)
        if kind.__eq__ is object.__eq__:
            return Same(value), attributes
        return (kind, attributes, Same(value) if not attributes else None) if kind.__hash__ is None else (value, attributes)

    def _held(self, value):
        if isa(value, BUFFERS):
            return bits(value)
        if isa(value, WRAPPERS):
            return self.of(wrapped(value))
        if isa(value, SETS):
            return frozenset(map(self.of, value))
        if isa(value, dict):
            default = self.of(value.default_factory) if isa(value, defaultdict) else None
            return default, *[(self.of(k), self.of(v)) for k, v in value.items()]
        return tuple(map(self.of, value))

    def _attributes(self, value):
        names = dict.fromkeys([*own(value), *[name for cls in type(value).__mro__ for name in slots_of(cls)]])
        return tuple([(name, self.of(getattr(value, name))) for name in names if hasattr(value, name)])


def _parts_of(function):
    """List what a method or a partial is made of."""
    if isa(function, partial):
        return function.func, function.args, function.keywords
    return function.__func__, function.__self__


def _exact(value):
    """A value that never changes as a key: 1, 1.0 and True are three, and so are 0.0, -0.0 and NaN."""
    if isa(value, (tuple, frozenset)):
        return type(value), (frozenset if isa(value, frozenset) else tuple)(map(_exact, value))
    if isa(value, slice):
        return slice, _exact((value.start, value.stop, value.step))
    if isa(value, (float, complex)):
        return type(value), repr(value)
    return type(value), value
