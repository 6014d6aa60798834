"""The methods of array types, which no name in a function leads to: jit looks at what they read outside as at what f reads."""

import types
import weakref

import numpy as np

from ...dispatch import Container, all_generics
from ...dispatch.generic import Generic
from ...dispatch.signatures import parts
from .bytecode import facts
from .libraries import LIBRARY, installed, is_ours
from .places import MISSING, behind, content

_reading_methods = weakref.WeakKeyDictionary()  # class of arrays -> (how many methods were registered, those that read data)


def reading(cls):
    """The user's methods for arrays of a class that read data outside, beside functions, classes and modules of libraries."""
    known = _reading_methods.get(cls)
    if known is None or known[0] != Generic.registered:
        if _is_users(cls) and issubclass(cls, Container):
            methods = tuple([f for f in dict.fromkeys(_methods(cls)) if _reads_data(f, set())])
        else:
            methods = ()
        known = _reading_methods[cls] = Generic.registered, methods
    return known[1]


def _is_users(thing):
    """Return whether a class, function or module is neither the library's nor installed."""
    package = (getattr(thing, "__module__", None) or getattr(thing, "__name__", "")).partition(".")[0]
    return package != LIBRARY and not installed(package)


def _methods(cls):
    """All functions that a class of the user's has, and those registered for it."""
    own = list(filter(_is_users, cls.__mro__))
    for base in own:
        for part in vars(base).values():
            if isinstance(behind(part), types.FunctionType):
                yield behind(part)
    for generic in all_generics():
        for method in generic.methods:
            hints = [t for hint in (*method.types, method.varargs) if hint is not None for t in parts(hint)]
            if isinstance(method.implementation, types.FunctionType) and any([t in own for t in hints]):
                yield method.implementation


def _reads_data(f, seen):
    """Return whether a function, or one of the user's that it calls, reads data outside."""
    code = f.__code__
    if code in seen or is_ours(code) or not _is_users(f):
        return False
    seen.add(code)
    if facts(code).unknown:
        return True
    cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
    for where, name in facts(code).reads:
        value = content(cells[name]) if name in cells else f.__globals__.get(name, MISSING)
        if where == "global" and value is MISSING:
            continue  # a name of Python's
        if isinstance(value, types.FunctionType):
            if _reads_data(value, seen):
                return True
        elif isinstance(value, types.ModuleType):
            if _is_users(value):
                return True
        elif not isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)):
            return True
    return False
