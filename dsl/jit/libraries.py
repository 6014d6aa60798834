"""What stays as it is, and what users may change of it: constants, and modules of libraries."""

import dataclasses
import enum
import functools
import sys
import types

import numpy as np

from ...dispatch import Immutable, is_library, isa
from .contents import holds
from .places import own

LIBRARY = __name__.partition(".")[0]  # this one
# Constants of modules that do not list their names
CONSTANTS = ("pi", "e", "tau", "inf", "nan", "maxsize", "byteorder", "version", "version_info", "platform")

FIXED = (type(None), bool, int, float, complex, str, bytes, range, np.dtype, np.generic, np.ufunc, type, enum.Enum,
         types.BuiltinFunctionType, types.ModuleType, type(...), Immutable)  # fmt: skip  # classes whose values never change


@functools.cache
def installed(package):
    """Return whether a package, by its name, is Python's own or installed beside it."""
    if package in sys.stdlib_module_names:
        return package != "__main__"
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def is_ours(code):
    """Return whether code is the library's, and in a file."""
    return not code.co_filename.startswith("<") and is_library(code.co_filename)


def given(module, name, fixed):
    """Return whether a library's module has a value under a name that may change: what a user set there, and lists of its own.
    fixed: says of the name of a module whether it stays."""
    value = vars(module).get(name)
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] == module.__name__.partition(".")[0]
    if name.startswith("__") or name in CONSTANTS or name in getattr(module, "__all__", ()) or value is sys.modules:
        return False
    if isinstance(value, (types.FunctionType, type)):
        return not fixed(value.__module__)
    plain = value is not None and is_constant(value) or isa(value, np.ndarray) or holds(type(value))
    return plain or not fixed(type(value).__module__)


def never_changes(value):
    """Return whether a value is a constant, or a tuple of them."""
    return all(map(never_changes, value)) if type(value) is tuple else is_constant(value)


def is_constant(value):
    """Return whether a value is one that never changes and counts by what it is."""
    return value is None or isa(value, (bool, int, float, complex, str, bytes))


def plain(value):
    """Return whether a value never changes."""
    if _is_fixed(type(value)):
        return True
    if isa(value, (tuple, frozenset)):
        return all(map(plain, value)) and not own(value)
    if isa(value, slice):
        return plain((value.start, value.stop, value.step))
    record = dataclasses.is_dataclass(value) and getattr(type(value), "__dataclass_params__").frozen  # noqa: B009
    return record and all([plain(getattr(value, f.name)) for f in dataclasses.fields(value)])


@functools.lru_cache(1024)
def _is_fixed(cls):
    return issubclass(cls, FIXED)
