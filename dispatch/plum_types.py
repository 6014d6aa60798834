"""What plum's signatures and types mean where a method is registered, and a method's types as plum's signature.

plum is imported where its signature is asked for, and looked at elsewhere only if the program has imported it: it takes as
long to load as NumPy. Which method is narrower is for order.py; decision 24 says why that is not plum's order.
"""

import sys
from functools import reduce
from operator import or_
from typing import get_args

from .errors import RegistrationError

promises = []  # methods whose annotations name types that do not exist yet


def make_signature(types, varargs):
    """The types of a method as a `plum.Signature`."""
    import plum

    return plum.Signature(*types) if varargs is None else plum.Signature(*types, varargs=varargs)


def is_signature(x):
    """Return whether x is a `plum.Signature`."""
    plum = sys.modules.get("plum")
    return plum is not None and isinstance(x, plum.Signature)


def read_signature(name, signature):
    """(types, type of the variable arguments or None) of a `plum.Signature`. Raises RegistrationError for a precedence."""
    if signature.precedence:
        raise RegistrationError(
            f"{name}: methods have no precedence, but the signature has {signature.precedence}; write the method for the types "
            "that both of the rivals take"
        )
    return signature.types, signature.varargs if signature.has_varargs else None


def plain_class(cls):
    """The class itself, or the one of which it is a `plum.parametric` one: what decides whether types alone tell instances."""
    plum = sys.modules.get("plum")
    return cls if plum is None else next(c for c in cls.__mro__ if not isinstance(c, plum.CovariantMeta))


def delivered(hint):
    """The annotation with a class in the place of each `plum.ModuleType` and `plum.PromisedType`; None while one is missing."""
    plum = sys.modules.get("plum")
    if plum is None or hint is None:
        return hint
    found = [_class_of(plum, part) for part in get_args(hint) or (hint,)]
    return None if None in found else reduce(or_, found)


def _class_of(plum, part):
    # not by plum.resolve_type_hint, which does not return for a promised type that was not delivered
    if isinstance(part, plum.ModuleType):
        try:
            return part.resolve() if part.retrieve() else None
        except AttributeError:  # of a module that is still being imported
            return None
    if isinstance(part, plum.PromisedType):
        cls = part.resolve()
        return None if cls is part else cls
    return part


def deliver():
    """Register the methods whose types exist by now."""
    for method in list(promises):
        hints = (*method.types, method.varargs)
        found = [delivered(hint) for hint in hints]
        if None in [f for f, hint in zip(found, hints, strict=True) if hint is not None]:
            continue
        try:
            promises.remove(method)
        except ValueError:  # another thread was first
            continue
        method.generic.methods.remove(method)
        method.generic.add(method.implementation, tuple(found[:-1]), found[-1], method.kind)
