"""Families: one method of an array type serves every operation of a kind, as Julia's `BroadcastStyle` allows.

A family is a generic function `family(op, *xs)`; its members are the operations whose card is of that kind. An array
type answers for all of them at once, with the operation as the first argument, and returns NotImplemented for those
that it does not know: they go on as if it had no method (dense, guarded).
"""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING, Any

from ..dispatch import Array, Container, RegistrationError, generic, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dispatch.annotations import F


@generic
def elementwise_family(op, /, *xs):
    """Every elementwise operation. Methods are called as `method(op, *xs, **params)` and return the result of
    `op(*xs)`.

    >>> import numpy as np, polyad as pa
    >>> @pa.array_type(leaves=("values",))
    ... class Logged(pa.Container):
    ...     def __init__(self, values):
    ...         self.values = values
    ...     shape = property(lambda self: self.values.shape)
    ...     dtype = property(lambda self: self.values.dtype)
    >>> @pa.elementwise_family.method
    ... def logged_unary(op, x: Logged, /, **params):
    ...     print(op.__name__)
    ...     return Logged(op(x.values, **params))
    >>> np.sin(Logged(np.zeros(2)))
    sin
    Logged(values=array([0., 0.]))
    """


@generic
def reduction_family(op, /, *xs):
    """Every reduction: `method(op, x, **params)` with `axis`, `keepdims` and what else the operation takes."""


@generic
def linear_family(op, /, *xs):
    """Every operation of kind linear: changes of shape, reading by index (`op(x, *index_arrays, spec=…)`).

    Operations on a sequence of arrays (`concatenate`) belong to no family.
    """


@generic
def bilinear_family(op, /, *xs):
    """Every product of kind bilinear, such as `matmul`."""


FAMILIES = {
    "elementwise": elementwise_family,
    "reduction": reduction_family,
    "linear": linear_family,
    "bilinear": bilinear_family,
}
ARITIES = {elementwise_family: 3, reduction_family: 1, linear_family: 3, bilinear_family: 2}  # arrays of an operation
ALWAYS = (reduction_family, bilinear_family)  # whose operations all have as many


def claim(family: Any, *types: type) -> Callable[[F], F]:
    """Decorator: `def method(op, *xs, **params)` serves each call that has all of these types among its arguments.

    family: one of the families. types: array types (several: see `combine_rule`). The other arguments may be any
    `Array`. One registration stands for all places the types can take: `claim(elementwise_family, T)` is the signatures
    (T), (T, Array), (Array, T), (T, T), ….

    >>> import polyad as pa
    >>> @pa.array_type()
    ... class Nothing(pa.Container):
    ...     shape, dtype = (), float
    >>> @pa.claim(pa.elementwise_family, Nothing)
    ... def nothing_elementwise(op, *xs, **params):
    ...     return Nothing()
    >>> 2 * Nothing() + 1
    Nothing()
    """

    _check_claim(family, types)

    def register(method):
        _check_method(family, types, method)
        for n in range(len(types), ARITIES[family] + 1):
            for signature in itertools.product((*types, Array), repeat=n):
                if set(types) <= set(signature):
                    family.generic.add(method, (object, *signature))
        return method

    return register


def _check_claim(family, types):
    """Raises RegistrationError for a claim that no call could reach."""
    if family not in ARITIES:
        name = getattr(family, "__qualname__", repr(family))
        own = f"write @{name}.method for one operation, or name" if hasattr(family, "generic") else "it takes"
        raise RegistrationError(
            f"claim: {name} is no family of operations; {own} one of {', '.join(f.__name__ for f in ARITIES)}"
        )
    wrong = [t for t in types if not (isinstance(t, type) and issubclass(t, Container))]
    if wrong or not types:
        shown = ", ".join(type_name(t) if isinstance(t, type) else repr(t) for t in wrong) or "nothing"
        raise RegistrationError(
            f"claim: families serve array types (polyad.Container) only, not {shown}; declare the class with "
            "@polyad.array_type, or write @op.method for each operation"
        )


def _check_method(family, types, method):
    """Raises RegistrationError for a method that cannot take what the family hands over."""
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        return  # as `declared` says
    kinds, fixed = {p.kind for p in parameters}, len(types) == ARITIES[family] or family in ALWAYS
    lacking = [] if fixed or inspect.Parameter.VAR_POSITIONAL in kinds else ["*xs"]
    lacking += [] if inspect.Parameter.VAR_KEYWORD in kinds else ["**params"]
    if lacking:
        name = getattr(method, "__name__", repr(method))
        raise RegistrationError(
            f"claim: {name} does not take {' and '.join(lacking)}, but it stands for every operation of {family.__name__}, "
            f"of up to {ARITIES[family]} arrays and with parameters; write `def {name}(op, *xs, **params)`"
        )


def combine_rule(first: type, second: type, family: Any) -> Callable[[F], F]:
    """Decorator: how two array types meet in a family, `def method(op, *xs, **params)`, in either order and any place.

    Without it a call that both claim is an AmbiguousMethodError. Returning NotImplemented makes them dense (guarded).
    """
    return claim(family, first, second)
