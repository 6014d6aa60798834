"""`hash` of a followed value: that of the plain value in its place, so that `x in {1.0, 2.0}`, `table.get(x)` and `set(values)`
answer as without the transformation.

The number is read as `if` and `int` read it: it carries no derivative, jit asks for it, and lanes split by it. A cache of
`functools` is the exception: what it keeps was computed from its arguments, and an equal number of another call would give a
result that nothing follows. It finds a followed value by which one it is.
"""

import functools
import sys
from dis import opname
from typing import Any

from ...dispatch import is_library

CACHE = type(functools.cache(len))


def hash_of(x, number):
    """The hash of a layer value. number: function of it that gives the plain number, as Python asks for it."""
    kind = x.standing()
    if kind.__hash__ is None:
        raise TypeError(f"unhashable type: '{kind.__module__}.{kind.__qualname__}'")
    return object.__hash__(x) if _for_cache() else hash(number(x))


def _for_cache():
    """Return whether the code that is running calls a cache, as far as can be told from the names that it uses."""
    frame: Any = sys._getframe(2)
    while is_library(frame.f_code.co_filename):
        frame = frame.f_back
    code = frame.f_code
    if "CALL" not in opname[code.co_code[frame.f_lasti]]:
        return False
    local, shared, names = frame.f_locals, frame.f_globals, code.co_names
    values = [*local.values(), *[shared[name] for name in names if name in shared]]
    if any([type(v) is CACHE for v in values]):
        return True
    spaces = {id(space): space for v in values for space in _spaces(v)}.values()
    return any([type(space.get(name)) is CACHE for space in spaces for name in names])


def _spaces(x):
    """The dictionaries of attributes of an object and its classes."""
    own = getattr(x, "__dict__", None) if not issubclass(type(x), type) else None
    classes = x.__mro__ if own is None and issubclass(type(x), type) else type(x).__mro__
    return [*([own] if type(own) is dict else []), *[vars(cls) for cls in classes if cls.__module__ != "builtins"]]
