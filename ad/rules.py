"""From cards to derivative rules: what a card says (partials, linearity, jvp, vjp) as functions the two layers call.

Every operation ends up with `jvp(dxs, y, *xs, **params)` and one `vjp(ct, y, *xs, **params)` per array, or one for all of
them; no operation is known here by name.
"""

import numpy as np

from ..dispatch import Layer, MissingRuleError, ShapeError, describe, snapshot
from ..dsl import add, broadcast_to, multiply, negative
from ..dsl.avals import dtype_of, shape_of
from ..dsl.axes import enclosing_axes
from ..dsl.batching import replicated_axes
from ..dsl.ops.arithmetic import masked_product
from ..dsl.ops.complex import astype, real
from ..dsl.ops.create import beside, zeros_like
from ..dsl.ops.named import psum_over
from ..dsl.ops.reduce import sum_to


def differentiable(generic):
    """Whether the card admits derivatives at all."""
    return generic.card.differentiable


def constant(x):
    """x, a result that its transformation does not follow; an error if it belongs to one that has ended."""
    if isinstance(x, Layer) and x.run.closed:
        raise x.run.leaked()
    return x


def unshared(y, xs):
    """The result of an operation without derivative, apart from the values it came from, which are kept elsewhere."""
    if isinstance(y, Layer):
        return snapshot(y)
    return y.copy() if hasattr(y, "copy") and any([y is x for x in xs]) else y


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
        for i, dx in enumerate(dxs):
            partial = None if dx is None else _entry(card.partials, i, card)
            if partial is not None:
                part = term(dx, partial, y, xs, params)
                dy = part if dy is None else add(dy, part)
        return dy

    return jvp


def _jvp_linear(generic):
    spread, positions = generic.spread, generic.card.linear

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
    together = card.rules.get("vjp_all")
    if together is not None:
        return lambda ct, y, *xs, **params: together(ct, y, *xs, **params)[i]
    for name in ("vjp", "transpose"):
        rules = card.rules.get(name)
        if rules is not None:
            return _pick(rules, i, card, card.linear if name == "transpose" else None)
    if card.partials is not None:
        return _vjp_from_partial(card, i, generic.params)
    return None


def joint_rule(generic, places):
    """The one reverse rule of a card for all its arrays, with a list of cotangents for those at `places`, brought to
    their spaces; None if the card has a rule for each array."""
    rule, name = generic.card.rules.get("vjp_all"), generic.name
    if rule is None:
        return None

    def pull(ct, y, *xs, **params):
        found = rule(ct, y, *xs, **params)
        if len(found) != len(xs):
            raise MissingRuleError(
                f"{name}: its rule vjp_all returned {len(found)} cotangent(s) for {len(xs)} array(s); it must return one "
                "for each, None where there is no derivative"
            )
        return [match_cotangent(found[i], y, xs[i], name) for i in places]

    return pull


def reads_values(generic, i):
    """Whether the reverse rule for array i reads numbers of the arguments or the result, not only shapes and dtypes."""
    card = generic.card
    if card.partials is not None and i < len(card.partials):
        return card.partials[i] not in (1, -1)
    if card.kind == "linear" and card.linear is None:
        return False
    return card.kind != "linear" or len(generic.arrays) > 1 or generic.variadic is not None


def _pick(rules, i, card, positions):
    """The rule for array i from a card's list (or function of i). positions: the arrays the list is for, None: all."""
    if callable(rules):
        return lambda ct, y, *xs, **params: rules(i, ct, y, *xs, **params)
    if positions is not None and i not in positions:
        return nothing
    at = i if positions is None else list(positions).index(i)
    return nothing if _entry(rules, at, card) is None else rules[at]


def _entry(entries, i, card):
    """Entry i of a list with one entry per array."""
    if i >= len(entries):
        raise MissingRuleError(
            f"{card.name} has derivative rules for {len(entries)} array(s) and none for array {i}; its card needs one "
            "for each array, None where there is no derivative"
        )
    return entries[i]


def nothing(ct, y, *xs, **params):
    """The reverse rule for an argument without derivative."""
    return None


def _vjp_from_partial(card, i, params):
    partial = _entry(card.partials, i, card)
    if partial is None:
        return nothing
    if partial == 1:
        return lambda ct, y, *xs, **params: ct
    if partial == -1:
        return lambda ct, y, *xs, **params: negative(ct)
    if card.singular:
        return lambda ct, y, *xs, **params: masked_product(ct, partial(y, *xs, **params))
    if params:
        return lambda ct, y, *xs, **params: multiply(ct, partial(y, *xs, **params))
    return lambda ct, y, *xs: multiply(ct, partial(y, *xs))  # hot


def match_cotangent(ct, y, x, name):
    """A cotangent brought to its argument's space: its shape, its dtype (real stays real), and once for all lanes if
    the argument is the same in all of them. name: of the operation, for the error."""
    kind = type(ct)
    if kind is type(x) and ct.dtype is x.dtype and ct.shape == x.shape and (kind is np.ndarray or not enclosing_axes()):
        return ct
    if ct is None:
        return None
    if enclosing_axes():
        result = y[0] if isinstance(y, tuple) else y
        mixed = [axis for axis in replicated_axes(x) if axis not in replicated_axes(result)]
        for axis in mixed:
            ct = psum_over(ct, axis)
    shape = shape_of(x)
    if shape_of(ct) != shape:
        full = _common_shape(f"{name}: its reverse rule", ct, x)
        ct = sum_to(ct if shape_of(ct) == full else broadcast_to(beside(ct, x), shape=full), shape)
    return match_dtype(ct, x)


def match_tangent(dy, y, name):
    """A tangent brought to its value's shape and dtype."""
    shape = shape_of(y)
    if shape_of(dy) != shape:
        if _common_shape(f"{name}: its forward rule", dy, y) != shape:
            raise _misfit(f"{name}: its forward rule", dy, y)
        dy = broadcast_to(beside(dy, y), shape=shape)
    return match_dtype(dy, y)


def _common_shape(rule, ct, x):
    try:
        return np.broadcast_shapes(shape_of(ct), shape_of(x))
    except ValueError:
        raise _misfit(rule, ct, x) from None


def _misfit(rule, ct, x):
    return ShapeError(
        f"{rule} returned {describe(ct)} of shape {list(shape_of(ct))} for {describe(x)} of shape {list(shape_of(x))}; "
        "it must have that shape, or broadcast with it"
    )


def match_dtype(ct, x):
    """ct in x's dtype; a complex one of a real x keeps its real part."""
    dtype = dtype_of(x)
    if dtype_of(ct) == dtype:
        return ct
    if dtype_of(ct).kind == "c" and dtype.kind != "c":
        ct = real(ct)
    return astype(ct, dtype=dtype)
