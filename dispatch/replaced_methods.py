"""What is said when a method takes the place of another module's: both places."""

import inspect

from .callers import warn
from .containers import Container
from .errors import ReplacedWarning
from .generic import Generic, Method
from .signatures import check_reached

_last = (None, None)  # one registration may be many signatures, of which one is enough to tell


def place_of(function):
    """file:line of a function, or the name of the library function that it is."""
    return Method(None, (), None, None, function).where


def announce(what, old, new):
    """Warn that the function `new` takes the place of `old`. Silent if it is of the same module, whose source is run again
    (a notebook's cell, `importlib.reload`), or which replaces what is its own. what: the signature in messages."""
    global _last
    meant = any([getattr(f, "deliberate", False) for f in (old, new)])  # such as `opt_out`, which says so itself
    if meant or old is new or _home(old) == _home(new) or _last == (old, new):
        return
    _last = (old, new)
    warn(
        f"{what}: {place_of(new)} takes the place of {place_of(old)}, for the whole process; if that is not meant, register "
        "it for a type of your own",
        ReplacedWarning,
    )


def _home(function):
    """The module of a function; an object without one is its own."""
    return getattr(inspect.unwrap(function), "__module__", None) or id(function)


Generic.replaced = staticmethod(lambda old, new: announce(new, old.implementation, new.implementation))
Generic.check = staticmethod(lambda generic, name, types, varargs: check_reached(generic, name, types, varargs, Container))
