"""From cards to derivative rules: what a card says (partials, linearity, jvp, vjp) as functions the two layers call.

Every operation ends up with `jvp(dxs, y, *xs, **params)` and one `vjp(ct, y, *xs, **params)` per array, or one for all of
them; no operation is known here by name.
"""

from functools import partial
from typing import Any

import numpy as np

from ..dispatch import (
    Container,
    DTypeError,
    Layer,
    MissingRuleError,
    ShapeError,
    StructureError,
    Tangent,
    check_runs,
    describe,
    isa,
    snapshot,
)
from ..dsl import add, broadcast_to, negative, subtract
from ..dsl.avals import dtype_of, shape_of
from ..dsl.axes import enclosing_axes
from ..dsl.batching import replicated_axes
from ..dsl.ops.arithmetic import masked_product
from ..dsl.ops.complex import astype, real
from ..dsl.ops.create import beside, zeros_like
from ..dsl.ops.named import psum_over
from ..dsl.ops.reduce import sum_to
from .careful import product
from .products import masked_over, over
from .recycled import computed
from .residuals import LARGE, added, elements


class _NoTangent:
    """The tangent of a value that has no tangent space: an integer, a boolean, a static leaf."""

    mapped = False  # for vmap: one for all lanes, with no axis for them

    def __repr__(self):
        return "NoTangent"

    def __reduce__(self):
        return "NoTangent"

    def __add__(self, other):
        return other

    __radd__ = __add__


NoTangent = _NoTangent()


def differentiable(generic):
    """Whether the card admits derivatives at all."""
    return generic.card.differentiable


def constant(x):
    """x, a result that its transformation does not follow; an error if it belongs to one that has ended."""
    if Layer in type(x).__mro__ and x.run.closed:
        raise x.run.leaked()
    return x


def unshared(y, xs):
    """The result of an operation without derivative, apart from the values it came from, which are kept elsewhere."""
    if isinstance(y, Layer):
        return snapshot(y)
    return y.copy() if hasattr(y, "copy") and any([y is x for x in xs]) else y


def unfollowed(cls, generic, types):
    """The target of an operation without derivative for values of a layer: its result is a constant."""
    spread, mine = generic.spread, [t is cls for t in types]
    whose = mine.index(True)

    def run(*args, **params):
        check_runs(args[whose].run, args, cls)
        xs = [a.below if m else a for a, m in zip(args, mine, strict=True)]
        return unshared(spread(*xs, **params), xs)

    return run


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
    def term(dx, slope, y, xs, params):
        if slope == 1:
            return dx
        if slope == -1:
            return computed(negative, dx)
        if card.singular:
            return masked_over(dx, slope(y, *xs, **params))
        return (over if elements(dx) >= LARGE else product.times)(dx, slope(y, *xs, **params))

    def jvp(dxs, y, *xs, **params):
        dy, new = None, False  # new: an array made here
        for i, dx in enumerate(dxs):
            slope = None if dx is None else entry(card.partials, i, card)
            if slope is None:
                continue
            if dy is not None and slope in (1, -1):
                dy, new = computed(add if slope == 1 else subtract, dy, dx), True
            elif dy is None:
                dy, new = term(dx, slope, y, xs, params), slope != 1
            else:
                dy, new = added(dy, term(dx, slope, y, xs, params), new), True
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


def vjp_rule(generic, i, large=False) -> Any:
    """The reverse rule of an operation for its array i, or None if the card has only a forward rule. large: of large arrays."""
    card = generic.card
    together = card.rules.get("vjp_all")
    if together is not None:
        return lambda ct, y, *xs, **params: together(ct, y, *xs, **params)[i]
    for name in ("vjp", "transpose"):
        rules = card.rules.get(name)
        if rules is not None:
            return _pick(rules, i, card, card.linear if name == "transpose" else None)
    if card.partials is not None:
        return _vjp_from_partial(card, i, generic, large)
    return None


def joint_rule(generic, places):
    """The one reverse rule of a card for all its arrays, with a list of cotangents for those at `places`, brought to
    their spaces; None if the card has a rule for each array."""
    rule, name = generic.card.rules.get("vjp_all"), generic.name
    if rule is None:
        return None

    def pull(ct, y, *xs, **params):
        found = rule(ct, y, *xs, **params)
        if not isinstance(found, (tuple, list)) or len(found) != len(xs):
            what = f"{len(found)} cotangent(s)" if isinstance(found, (tuple, list)) else describe(found)
            raise MissingRuleError(
                f"{name}: its rule vjp_all returned {what} for {len(xs)} array(s); it must return one for each, in a tuple "
                "or list, None where there is no derivative"
            )
        return [match_cotangent(found[i], y, xs[i], name, i) for i in places]

    return pull


def has_forward(generic):
    """Whether the card has or implies a forward rule."""
    card = generic.card
    return "jvp" in card.rules or card.partials is not None or card.linear is not None or card.kind in ("linear", "bilinear")


def has_reverse(generic):
    """Whether the card has a reverse rule of its own, or partials."""
    return generic.card.partials is not None or not {"vjp", "vjp_all", "transpose"}.isdisjoint(generic.card.rules)


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
    if positions is not None and i not in positions:
        return nothing
    if callable(rules):
        return partial(rules, i)
    at = i if positions is None else list(positions).index(i)
    return nothing if entry(rules, at, card) is None else rules[at]


def entry(entries, i, card):
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


def unchanged(ct, z, x, y):
    """The reverse rule for either of two arguments whose slope is 1."""
    return ct


def _vjp_from_partial(card, i, generic, large):
    slope = entry(card.partials, i, card)
    if slope is None:
        return nothing
    two = generic.arity == 2 and not generic.params  # hot: without lists of arguments
    if slope == 1:
        return unchanged if two else lambda ct, y, *xs, **params: ct
    if slope == -1:
        return (lambda ct, z, x, y: negative(ct)) if two else lambda ct, y, *xs, **params: negative(ct)
    if card.singular:
        times = masked_over if large else masked_product
        return lambda ct, y, *xs, **params: times(ct, slope(y, *xs, **params))
    if large:
        return lambda ct, y, *xs, **params: over(ct, slope(y, *xs, **params))
    if two:
        return lambda ct, z, x, y: product.times(ct, slope(z, x, y))
    if generic.arity == 1 and not generic.params:
        return lambda ct, y, x: product.times(ct, slope(y, x))
    return lambda ct, y, *xs, **params: product.times(ct, slope(y, *xs, **params))


def matched(rule, i, generic):
    """The reverse rule for array i with its result brought to the array's space."""
    name = generic.name
    if generic.arity == 1 and (generic.params or generic.keywords):
        return lambda ct, y, x, **params: match_cotangent(rule(ct, y, x, **params), y, x, name, 0)
    if generic.params or generic.keywords or generic.arity not in (1, 2):
        return lambda ct, y, *xs, **params: match_cotangent(rule(ct, y, *xs, **params), y, xs[i], name, i)
    if generic.arity == 1:  # hot: without lists of arguments
        return lambda ct, y, x: match_cotangent(rule(ct, y, x), y, x, name, 0)

    same = rule is unchanged

    def first(ct, z, x, y):
        c = ct if same else rule(ct, z, x, y)
        if type(c) is np.ndarray is type(x) and c.shape == x.shape and c.dtype is x.dtype:
            return c
        return match_cotangent(c, z, x, name, 0)

    def second(ct, z, x, y):
        c = ct if same else rule(ct, z, x, y)
        if type(c) is np.ndarray is type(y) and c.shape == y.shape and c.dtype is y.dtype:
            return c
        return match_cotangent(c, z, y, name, 1)

    return second if i else first


def match_cotangent(ct, y, x, name, place=None, summed=()):
    """A cotangent brought to its argument's space: dense, its shape, its dtype (real stays real), and once for all lanes
    if the argument is the same in all of them; None for zero. name: of the operation, place: of the argument, for errors.
    summed: names of axes along which the rule has summed it already."""
    kind = type(ct)
    if kind is type(x):
        if kind is np.float64:
            if not enclosing_axes():
                return ct
        elif kind is np.ndarray or getattr(kind, "halves", None) is not None:  # the latter: a value with a tangent
            a, b = (ct, x) if kind is np.ndarray else (ct.below, x.below)
            if type(a) is np.ndarray is type(b) and a.dtype is b.dtype:
                shape = b.shape
                if a.shape == shape:
                    return ct
                if a.ndim > len(shape) and a.shape[a.ndim - len(shape) :] == shape and not enclosing_axes():
                    return sum_to(ct, shape)  # as for a bias
    elif getattr(type(x), "halves", None) is not None and _alike(ct, x.below) and not enclosing_axes():
        return ct
    elif kind is not np.ndarray:
        ct = as_dense(ct, f"{name}: its reverse rule", x, place)
        if ct is None:
            return None
    if enclosing_axes():
        result = y[0] if isinstance(y, tuple) else y
        mixed = [axis for axis in replicated_axes(x) if axis not in replicated_axes(result)]
        for axis in mixed:
            ct = ct if axis.name in summed else psum_over(ct, axis)
    shape, given = shape_of(x), shape_of(ct)
    if given != shape:
        extra = len(given) - len(shape)
        if extra < 0 or given[extra:] != shape:  # not only axes before those of x
            full = _common_shape(f"{name}: its reverse rule", ct, x, place)
            ct = ct if given == full else broadcast_to(beside(ct, x), shape=full)
        ct = sum_to(ct, shape)
    if kind is np.ndarray:
        _of_numbers(ct, f"{name}: its reverse rule", x, place)
    return match_dtype(ct, x)


def _alike(a, b):
    kind = type(a)
    return kind is type(b) and (kind is np.float64 or kind is np.ndarray and a.shape == b.shape and a.dtype is b.dtype)


def match_tangent(dy, y, name):
    """A tangent brought to its value's shape and dtype."""
    if type(dy) is not type(y):
        dy = as_dense(dy, f"{name}: its forward rule", y)
        dy = zeros_like(y) if dy is None else dy
    elif type(dy) is np.ndarray:
        _of_numbers(dy, f"{name}: its forward rule", y)
    shape = shape_of(y)
    if shape_of(dy) != shape:
        if _common_shape(f"{name}: its forward rule", dy, y) != shape:
            raise _misfit(f"{name}: its forward rule", dy, y)
        dy = broadcast_to(beside(dy, y), shape=shape)
    return match_dtype(dy, y)


def as_dense(ct, rule, x, place=None):
    """What a rule returned for the dense array x, as a dense array of numbers or None; a structured one in its dense form."""
    if ct is None or ct is NoTangent:
        return None
    if Container in type(ct).__mro__:
        if ct.always_zero:
            return None
        if ct.densifies:
            return ct.dense()
        raise StructureError(f"{rule} returned {describe(ct)}{_for(place)}, which has no dense form, for {describe(x)}")
    if isa(ct, (Tangent, tuple, list, dict, str)):
        raise StructureError(
            f"{rule} returned a {type(ct).__name__}{_for(place)} for {describe(x)}; it must return an array of that shape, "
            "or None for zero"
        )
    _of_numbers(ct, rule, x, place)
    return ct


def _of_numbers(ct, rule, x, place=None):
    if dtype_of(ct).kind not in "biufc":
        raise DTypeError(
            f"{rule} returned {describe(ct)}{_for(place)}, which holds no numbers, for {describe(x)}; it must return an array "
            "of its shape, or None for zero"
        )


def _for(place):
    return "" if place is None else f" for argument {place}"


def _common_shape(rule, ct, x, place=None):
    try:
        return np.broadcast_shapes(shape_of(ct), shape_of(x))
    except ValueError:
        raise _misfit(rule, ct, x, place) from None


def _misfit(rule, ct, x, place=None):
    return ShapeError(
        f"{rule} returned {describe(ct)} of shape {list(shape_of(ct))}{_for(place)} for {describe(x)} of shape "
        f"{list(shape_of(x))}; it must have that shape, or broadcast with it"
    )


def match_dtype(ct, x):
    """ct in x's dtype; a complex one of a real x keeps its real part."""
    dtype = dtype_of(x)
    if dtype_of(ct) == dtype:
        return ct
    if dtype_of(ct).kind == "c" and dtype.kind != "c":
        ct = real(ct)
    return astype(ct, dtype=dtype)
