"""Derivative rules by the types of the arguments: how the one for a call is found, and how types opt out of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Container, MissingRuleError, RegistrationError, describe, type_name
from ...dispatch.explain import no_method
from ...dispatch.resolve import choose, lookup
from ...dsl.array_libraries import bottom
from ...dsl.card import operations
from .from_cards import has_forward, has_reverse
from .projection import NoTangent

if TYPE_CHECKING:
    from collections.abc import Callable


def opted_out(*args, **params):
    """In place of a rule: the implementation itself is differentiated."""
    return NotImplemented


def without_derivative(*args, **params):
    """In place of a rule: the result does not depend on the arguments as far as derivatives go."""
    return None


opted_out.deliberate = without_derivative.deliberate = True  # whatever they take the place of


def plain(args):
    """The arrays under all layers of the arguments, by whose types a rule is chosen; containers as they are."""
    found = [bottom(x) for x in args]
    return [np.float64(0) if x is None else x for x in found]  # traced numbers lie on no device


def typed_rule(generic, mode, args):
    """The method of a rule for these arguments, or None."""
    methods = (generic.rules or {}).get(mode)
    return None if methods is None else methods.chosen(plain(args))


def _implementation(method):
    return None if method is None else method.implementation


def reverse_typed(generic, args):
    """(reverse rule by type or None, forward rule by type to be transposed or None): the rule itself goes first, then the
    card's own reverse rule, then the forward rule by type."""
    rule = _implementation(typed_rule(generic, "vjp", args))
    if rule is not None or has_reverse(generic):
        return rule, None
    return None, _implementation(typed_rule(generic, "jvp", args))


def forward_typed(generic, args):
    """(forward rule by type or None, reverse rule by type to be transposed or None), as `reverse_typed`."""
    rule = _implementation(typed_rule(generic, "jvp", args))
    if rule is not None or has_forward(generic):
        return rule, None
    return None, _implementation(typed_rule(generic, "vjp", args))


def implementation(generic, args):
    """Find what runs for dense arrays like these: a function of other operations, which is differentiated itself."""
    xs = plain(args)
    slot = lookup(generic, tuple(map(type, xs)))
    if slot is None:
        raise no_method(generic, xs, "it opted out of derivative rules, so there must be a method to follow")
    return choose(generic, slot, tuple(map(type, xs)), xs)


def one_each(found, xs, name):
    """Bring what a reverse rule returned to one entry for each array. Raises MissingRuleError."""
    if found is None or found is NoTangent:
        return (None,) * len(xs)
    if type(found) in (tuple, list) and len(found) == len(xs):
        return found
    if not isinstance(found, (tuple, list)) and len(xs) == 1:
        return (found,)
    what = f"a {type(found).__name__} of {len(found)}" if isinstance(found, (tuple, list)) else describe(found)
    raise MissingRuleError(
        f"{name}: the rule returned {what} for {len(xs)} array(s); it returns a tuple with a cotangent for each, None or "
        "polyad.NoTangent where there is no derivative"
    )


def opt_out(op: Callable[..., Any], *types: type) -> None:
    """No rule for arguments of these types: what the operation does with them is differentiated itself.

    op: an operation. types: one class for each of its arrays (one class for all arrays of a variadic one). For array types
    it is their own method that is followed, for a composite operation its body, for dense arrays the method that
    `@op.method` registered for them, if it is written in operations. It holds where no narrower rule is registered.
    Raises RegistrationError if there is nothing to follow: the kernels of polyad's own operations are NumPy's.

    >>> import numpy as np, polyad as pa
    >>> @pa.opaque(kernel=None)
    ... def cubed(x, /):
    ...     "x³ elementwise"
    >>> @cubed.method
    ... def cubed_dense(x: pa.HostArray, /):
    ...     return x * x * x
    >>> pa.opt_out(cubed, pa.HostArray)
    >>> float(pa.grad(cubed)(2.0))
    12.0
    """
    _mark(op, types, opted_out, "opt_out")


def no_derivative(op: Callable[..., Any], *types: type) -> None:
    """The result of an operation counts as constant for arguments of these types (`NoTangent`), in both modes.

    op: an operation. types: one class for each of its arrays (one class for all arrays of a variadic one).
    Raises RegistrationError.

    >>> import numpy as np, polyad as pa
    >>> class Table(np.ndarray):
    ...     "Numbers that are looked up and not differentiated."
    >>> pa.no_derivative(pa.negative, Table)
    >>> x = np.ones(2).view(Table)
    >>> pa.grad(lambda x: pa.sum(-x))(x), pa.grad(lambda x: pa.sum(-x))(np.ones(2))
    (array([0., 0.]), array([-1., -1.]))
    """
    _mark(op, types, without_derivative, "no_derivative")


def _mark(op, types, marker, name):
    generic = getattr(op, "generic", None)
    if generic is None or generic.card is None:
        raise RegistrationError(f"{name}: {describe(op)} is not an operation with a card")
    many, wanted = generic.arity is None, 1 if generic.arity is None else generic.arity
    if len(types) != wanted or not all(isinstance(t, type) for t in types):
        raise RegistrationError(
            f"{name}({generic.name}): give {wanted} class(es), {'for all arrays' if many else 'one for each array'}, not "
            f"{', '.join(type_name(t) if isinstance(t, type) else describe(t) for t in types) or 'none'}"
        )
    dense = not any(Container in t.__mro__ for t in types)
    if marker is opted_out and generic.card.body is None and dense and operations.get(generic.name) is op:
        raise RegistrationError(
            f"{name}({generic.name}): for dense arrays it is NumPy's own kernel that runs, which cannot be differentiated; "
            f"register a rule with @{generic.name}.vjp.method or @{generic.name}.jvp.method instead"
        )
    for table in (op.jvp, op.vjp):
        table.generic.add(marker, *(((), types[0]) if many else (types,)))
