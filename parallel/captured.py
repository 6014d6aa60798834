"""What a mapped function is and reads besides its arguments, as marks that ranks compare: POLYAD_COLLECTIVE_CHECK=strict.

By default a function may know which rank it runs on, as long as what all lanes have in common stays the same.
"""

import functools
import types
import zlib
from typing import Any

import numpy as np

from ..dispatch import Layer, isa, tree
from ..dsl.jit.contents import BUFFERS, SETS, bits, holds, parts
from ..dsl.jit.globals import Search
from ..dsl.jit.libraries import is_constant
from .checksums import checksum, layers
from .fingerprints import leaves_of
from .structures import name_of, told

UNNAMED = ("f", "function", "self", "leaf", "get", "itself")  # steps of a path that say nothing to the user


class _Search(Search):
    """A search that also notes the functions it comes to."""

    def __init__(self, f):
        self.functions = []
        super().__init__(f, ())

    def function(self, path, text, f, label):
        self.functions.append(f)
        super().function(path, text, f, label)


def reads(f):
    """Triples (what, checksum, layers), as `marks` of arguments, of the code of f and of all functions that it can reach,
    and of what these read: globals, variables of enclosing functions, default values, attributes of objects."""
    found = _Search(f)
    codes = sorted({(name_of(part), _code(part.__code__), repr(_mark((part.__defaults__, part.__kwdefaults__))))
                    for part in found.functions})  # fmt: skip
    marks: list[Any] = [("the code of the function, or of one that it calls,", zlib.crc32(repr(codes).encode()), ())]
    for path, value in zip(found.places, found.reader()(), strict=True):
        names = ".".join([part for part in path if isinstance(part, str) and part not in UNNAMED])
        mark = _mark(value)
        if mark is not None:
            what = f"what the function reads as {names!r}" if names else "a default value, or an argument of partial,"
            marks.append((what, mark, layers(value)))
    return marks


def reads_given(given):
    """As `reads`, of the functions and other objects among the arguments."""
    args, kwargs = given
    found = []
    for name, x in [*enumerate(args), *sorted(kwargs.items())]:
        for path, leaf in leaves_of(x):
            if checksum(leaf) is None and not isinstance(leaf, Layer) and not isa(leaf, np.ndarray):
                what = f"argument {name}{path}"
                found += [(what, _mark(leaf), ()), *((f"{part} in {what}", *rest) for part, *rest in reads(leaf))]
    return found


def _mark(value):
    """Return what of a value the ranks have in common; None for an object, whose attributes count by themselves."""
    if is_constant(value):
        return repr(value)
    if isa(value, (np.ndarray, np.generic, Layer)):
        return checksum(value)
    if isinstance(value, BUFFERS):
        return bits(value)
    if holds(type(value)):
        value = sorted(value, key=repr) if isinstance(value, SETS) else list(parts(value))
    leaves, structure = tree.flatten(value)
    if structure is not tree.LEAF:
        return told(value), tuple(map(_mark, leaves))
    by_code = isinstance(value, (types.FunctionType, types.MethodType, functools.partial))
    return None if by_code or not callable(value) else name_of(value)


def _code(code):
    """A checksum of what code does: not of where it is written."""
    constants = [_code(c) if isinstance(c, types.CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
                 for c in code.co_consts]  # fmt: skip
    return zlib.crc32(repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)).encode())
