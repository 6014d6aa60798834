"""From cards to derivative rules: what a card says (partials, linearity, jvp, vjp) as functions the two layers call.

Every operation ends up with `jvp(dxs, y, *xs, **params)` and one `vjp(ct, y, *xs, **params)` per array; no operation is
known here by name.
"""

import numpy as np

from ..dispatch import MissingRuleError
from ..dsl import add, broadcast_to, multiply, negative, zeros_like
from ..dsl.avals import dtype_of, shape_of
from ..dsl.axes import enclosing_axes
from ..dsl.batching import replicated_axes, spread_function
from ..dsl.ops.arithmetic import masked_product
from ..dsl.ops.complex import astype, real
from ..dsl.ops.named import psum_over
from ..dsl.ops.reduce import sum_to


def differentiable(generic):
    """Whether the card admits derivatives at all."""
    return generic.card.differentiable


def jvp_rule(generic):
    """The forward rule of an operation. Raises MissingRuleError if its card implies none."""
    card = generic.card
    if "jvp" in card.rules:
        return card.rules["jvp"]
    if card.partials is not None:
        return _jvp_from_partials(card)
    if card.kind == "bilinear":
        return _jvp_bilinear(generic.function)
    if card.linear is not None or card.kind == "linear":
        return _jvp_linear(generic)
    raise MissingRuleError(
        f"{card.name} has no forward derivative; add @{card.name}.rule('jvp') under its declaration, or say "
        "differentiable=False"
    )


def _jvp_from_partials(card):
    product = masked_product if card.singular else multiply

    def term(dx, partial, y, xs, params):
        if partial == 1:
            return dx
        return negative(dx) if partial == -1 else product(dx, partial(y, *xs, **params))

    def jvp(dxs, y, *xs, **params):
        dy = None
        for dx, partial in zip(dxs, card.partials, strict=True):
            if dx is not None and partial is not None:
                part = term(dx, partial, y, xs, params)
                dy = part if dy is None else add(dy, part)
        return dy

    return jvp


def _jvp_linear(generic):
    spread, positions = spread_function(generic), generic.card.linear

    def jvp(dxs, y, *xs, **params):
        where = range(len(xs)) if positions is None else positions
        if all(dxs[i] is None for i in where):
            return None
        args = list(xs)
        for i in where:
            args[i] = zeros_like(xs[i]) if dxs[i] is None else dxs[i]
        return spread(*args, **params)

    return jvp


def _jvp_bilinear(op):
    def jvp(dxs, y, a, b, **params):
        da, db = dxs
        left = None if da is None else op(da, b, **params)
        right = None if db is None else op(a, db, **params)
        return right if left is None else left if right is None else add(left, right)

    return jvp


def vjp_rule(generic, i):
    """The reverse rule of an operation for its array i, or None if the card has only a forward rule."""
    card = generic.card
    for name in ("vjp", "transpose"):
        rules = card.rules.get(name)
        if rules is not None:
            return _pick(rules, i, card)
    if card.partials is not None:
        return _vjp_from_partial(card, i)
    return None


def _pick(rules, i, card):
    if callable(rules):
        return lambda ct, y, *xs, **params: rules(i, ct, y, *xs, **params)
    positions = card.linear if "transpose" in card.rules and card.linear is not None else range(len(rules))
    at = list(positions).index(i) if i in positions else None
    if at is None or rules[at] is None:
        return nothing
    return rules[at]


def nothing(ct, y, *xs, **params):
    """The reverse rule for an argument without derivative."""
    return None


def _vjp_from_partial(card, i):
    partial = card.partials[i]
    if partial is None:
        return nothing
    if partial == 1:
        return lambda ct, y, *xs: ct
    if partial == -1:
        return lambda ct, y, *xs: negative(ct)
    if card.singular:
        return lambda ct, y, *xs, **params: masked_product(ct, partial(y, *xs, **params))
    return lambda ct, y, *xs: multiply(ct, partial(y, *xs))


def match_cotangent(ct, y, x):
    """A cotangent brought to its argument's space: its shape, its dtype (real stays real), and once for all lanes if the
    argument is the same in all of them."""
    kind = type(ct)
    if kind is type(x) and ct.dtype is x.dtype and ct.shape == x.shape and (kind is np.ndarray or not enclosing_axes()):
        return ct
    if ct is None:
        return None
    if enclosing_axes():
        mixed = [axis for axis in replicated_axes(x) if axis not in replicated_axes(y)]
        for axis in mixed:
            ct = psum_over(ct, axis)
    shape = shape_of(x)
    if shape_of(ct) != shape:
        ct = sum_to(ct, shape) if len(shape_of(ct)) >= len(shape) else ct
        ct = ct if shape_of(ct) == shape else broadcast_to(ct, shape=shape)
    return match_dtype(ct, x)


def match_tangent(dy, y):
    """A tangent brought to its value's shape and dtype."""
    shape = shape_of(y)
    if shape_of(dy) != shape:
        dy = broadcast_to(dy, shape=shape)
    return match_dtype(dy, y)


def match_dtype(ct, x):
    """ct in x's dtype; a complex one of a real x keeps its real part."""
    dtype = dtype_of(x)
    if dtype_of(ct) == dtype:
        return ct
    if dtype_of(ct).kind == "c" and dtype.kind != "c":
        ct = real(ct)
    return astype(ct, dtype=dtype)
