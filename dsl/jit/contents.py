"""What containers hold that are no nodes of trees: those of the standard library, and classes derived from them."""

import array
import types
from collections import ChainMap, UserDict, UserList, UserString, deque

SETS = (set, frozenset)
BUFFERS = (bytearray, memoryview, array.array)
DICT_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
WRAPPERS = (UserDict, UserList, UserString, ChainMap, types.MappingProxyType, *DICT_VIEWS)
HOLDERS = (list, tuple, dict, deque, *SETS, *BUFFERS, *WRAPPERS)


_holders = frozenset(HOLDERS)


def holds(cls):
    """Return whether values of a class are such containers; by its bases, as `issubclass` is slow for abstract classes."""
    return not _holders.isdisjoint(cls.__mro__)


def wrapped(value):
    """Return what a wrapper shows, as a plain container."""
    if isinstance(value, ChainMap):
        return value.maps
    if isinstance(value, (types.MappingProxyType, *DICT_VIEWS)):
        return dict(value) if isinstance(value, types.MappingProxyType) else list(value)
    return value.data


def parts(value):
    """List what a container holds, one by one; of a buffer of numbers nothing."""
    if isinstance(value, WRAPPERS):
        value = wrapped(value)
    if isinstance(value, (*BUFFERS, str)):
        return ()
    return (*value.keys(), *value.values()) if isinstance(value, dict) else tuple(value)


def bits(value):
    """A buffer of numbers as a key."""
    return type(value), getattr(value, "typecode", None) or getattr(value, "format", "B"), bytes(value)


class Same:
    """A value by its identity. It is kept alive, so that no other takes its place."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return id(self.value)

    def __eq__(self, other):
        return type(other) is Same and other.value is self.value
