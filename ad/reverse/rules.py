"""The reverse rule of an operation: of its card, by the types of the arguments, or from its forward rule, transposed."""

from contextvars import ContextVar
from typing import Any

import numpy as np

from ...dispatch import MissingRuleError, isa
from ...dsl.avals import aval_of, dtype_of
from ...dsl.axes import in_lanes
from ...dsl.debug.conventions import look_for_lost
from ...dsl.declaration_checks import spelled_rule
from ...dsl.ops.create import zeros_like
from ..rules.by_type import implementation, one_each, opted_out, reverse_typed
from ..rules.from_cards import differentiable, joint_rule, jvp_rule, nothing, reads_values, vjp_rule
from ..rules.projection import match_cotangent, match_tangent
from .mutation_checks import readers
from .tape import ReverseRun

# (operation, places, avals, parameters) of the forward rules that are being transposed here, the outermost first
_transposing: ContextVar[tuple] = ContextVar("transposing", default=())


def joint_reverse(generic, places, by_type=True):
    """One rule for the arrays at these places, where the operation has none for each: by the types of what it meets (by_type:
    if there are such), of its card, or for sequences of any length the forward rule transposed; else None."""
    together = reverse_by_type(generic, places) if generic.dense_rules and by_type else joint_rule(generic, places)
    if together is None and generic.arity is None and vjp_rule(generic, places[0]) is None:
        together = _transposed(generic, places)
    if together is not None and reads_values(generic, places[0]):
        readers[together] = generic.name
    return together


def reverse_by_type(generic, places):
    """One rule for the arrays at these places: that for the types of what it meets, else the card's."""

    def pull(ct, y, *xs, **params):
        rule, forward = reverse_typed(generic, xs)
        if rule is opted_out:
            cts = pulled(generic.name, lambda *xs: implementation(generic, xs)(*xs, **params), xs, ct)
            return [cts[i] for i in places]
        found = NotImplemented if rule is None else rule(ct, y, *xs, **params)
        if found is not NotImplemented:
            found = one_each(found, xs, f"{generic.name}.vjp")
            return [match_cotangent(found[i], y, xs[i], generic.name, i) for i in places]
        if forward is not None:
            return _transposed(generic, places, forward)(ct, y, *xs, **params)
        if not differentiable(generic):
            return [None] * len(places)
        together = joint_reverse(generic, places, by_type=False)
        if together is not None:
            return together(ct, y, *xs, **params)
        return [rule_for(generic, i)(ct, y, *xs, **params) for i in places]

    return pull


def rule_for(generic, i, same_space=False, large=False) -> Any:
    """The reverse rule for array i, its result brought to the array's space unless it is there already. large: for large
    arrays."""
    rule = vjp_rule(generic, i, large, matches=not same_space)
    if rule is nothing:
        return rule
    if rule is None:
        transposed = _transposed(generic, [i])
        rule = lambda ct, y, *xs, **params: transposed(ct, y, *xs, **params)[0]
    if reads_values(generic, i):
        readers[rule] = generic.name
    return rule


def _transposed(generic, places, jvp=None):
    """The reverse rule, for the arrays at these places, of an operation that has a forward rule only: that rule, linear
    in its tangents, transposed. It returns a list. jvp: the rule, None for the card's."""
    card = generic.card
    if jvp is None and "jvp" not in card.rules and card.partials is None and (card.linear or card.kind == "linear"):
        raise _own_transpose(generic)
    try:
        jvp = jvp_rule(generic) if jvp is None else jvp
    except MissingRuleError as error:
        raise MissingRuleError(
            f"{generic.name} has no reverse derivative; add @{generic.name}.rule('vjp') or @{generic.name}.rule('jvp') "
            "under its declaration, or say differentiable=False"
        ) from error

    def vjp(ct, y, *xs, **params):
        look_for_lost(generic, "lost_back", ct, y, xs, params)
        outer, call = _transposing.get(), (generic, places, list(map(aval_of, xs)), params)
        if any([_same(call, other) for other in outer]):
            raise _own_transpose(generic)

        def tangent(*followed):
            dxs = [None] * len(xs)
            for i, dx in zip(places, followed, strict=True):
                dxs[i] = dx
            dy = jvp(tuple(dxs), y, *xs, **params)
            if dy is None or isinstance(y, tuple):
                return dy
            return match_tangent(dy, y, generic.name)

        token = _transposing.set((*outer, call))
        try:
            cts = transpose(f"transpose of {generic.name}", tangent, [xs[i] for i in places], ct)
        finally:
            _transposing.reset(token)
        return [match_cotangent(c, y, xs[i], generic.name, i) for i, c in zip(places, cts, strict=True)]

    return vjp


def _own_transpose(generic):
    """The error for an operation whose forward rule is the operation itself, of the tangents: its transpose is a fact of its
    own, which nothing that is known of it implies."""
    name, linear = generic.name, generic.card.kind in ("linear", "bilinear")
    rule = "transpose" if linear else "vjp"
    form = f"{name}.rule({rule!r})([…]) under its declaration, with one function ({spelled_rule(rule, generic)})"
    return MissingRuleError(
        f"{name} has no reverse derivative: its forward derivative is {name} itself, of the tangents, which says nothing of "
        f"its transpose; add {form} for each array, as operations of these"
    )


def _same(call, other):
    """Tell whether the same operation is called with the same parameters, for arrays of the same shapes and dtypes."""
    alike = lambda a, b: a is b or isa(a == b, (bool, np.bool_)) and bool(a == b)
    return call[:3] == other[:3] and all([alike(v, other[3].get(k)) for k, v in call[3].items()])


def transpose(name, linear, xs, ct):
    """The transpose of a linear function of values like xs, applied to ct: a list, with None for zero. A function of several
    results takes a tuple of cotangents, None where there is none."""
    return pulled(name, linear, [in_lanes(zeros_like(x)) for x in xs], ct)


def pulled(name, f, xs, ct):
    """Cotangents of xs, None for zero and for integers, by differentiating f at xs.

    ct: a cotangent of f's result; of several results a tuple, None where there is none.
    """
    with ReverseRun(name) as run:
        places = [i for i, x in enumerate(xs) if dtype_of(x).kind in "fc"]
        seen = list(xs)
        for i in places:
            seen[i] = run.input(xs[i])
        out = f(*seen)
        pairs = [(out, ct)] if not isinstance(out, tuple) else zip(out, ct, strict=True)
        followed = [(run.unwrap(v)[1], c) for v, c in pairs if c is not None]
    seeds, cts = [(index, c) for index, c in followed if index is not None], [None] * len(xs)
    if seeds:
        for i, c in zip(places, run.walk_back(seeds, len(places)), strict=True):
            cts[i] = c
    return cts
