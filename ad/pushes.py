"""Forward mode for the commonest calls, of one array or of two without parameters: without lists of arguments, which would cost
more than the operations themselves on small arrays (as in reverse.py)."""

import dis
import math
from typing import Any, cast

from numpy import float64, ndarray

from ..dispatch import check_level
from ..dsl import add, negative, subtract
from ..dsl.ops.arithmetic import masked_product
from .rules.from_cards import entry, match_tangent
from .rules.nan_safe import product
from .rules.residuals import LARGE, elements

PLAIN = ("elementwise", "linear", "reduction", "bilinear")


def pushed(generic, mine):
    """A function (otherwise, cls) -> the target of an operation for values of forward mode at the places `mine`, where it has
    so simple a form; None where it has not. otherwise: the target for large arrays and within slopes."""
    card = generic.card
    if generic.rules or card.kind not in PLAIN or card.collective:
        return None
    if len(mine) == 1:
        rule = _of_one(generic)
        return rule and (lambda otherwise, cls: _one(cls, generic, rule, otherwise))
    if len(mine) == 2 and not generic.params:
        rule = _of_two(generic, mine)
        return rule and (lambda otherwise, cls: _two(cls, generic, rule, mine, otherwise))
    return None


def _one(cls, generic, rule, otherwise):
    spread, name = generic.spread, generic.name

    def run(x, **params):
        r, v, dx = x.run, x.primal, x.tangent
        if r.inner is not None:
            return r.inner.capture(generic, (x,), params)
        if dx is None or r.closed or _size(v) >= LARGE:
            return otherwise(x, **params)
        y = spread(v, **params)
        if type(y) is not ndarray and isinstance(y, tuple):
            return otherwise(x, **params)
        dy = rule(dx, y, v, **params)
        if type(dy) is ndarray is type(y) and dy.shape == y.shape and dy.dtype is y.dtype:
            return cls(y, dy, r)
        return cls(y, _tangent(dy, y, cls, generic, name), r)

    return run


def _two(cls, generic, rule, mine, otherwise):
    op, name = generic.function, generic.name
    first, second = mine
    least = math.inf if generic.card.kind == "bilinear" else LARGE  # where a large constant makes all that is computed large
    if not second:

        def run(x, y):
            r = x.run
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            v, dv = x.primal, x.tangent
            if dv is None or r.closed or _size(v) >= LARGE or type(y) is not float and _size(y) >= least:
                return otherwise(x, y)
            z = op(v, y)
            dz = rule(dv, None, z, v, y)
            if type(dz) is ndarray is type(z) and dz.shape == z.shape and dz.dtype is z.dtype:
                return cls(z, dz, r)
            return cls(z, _tangent(dz, z, cls, generic, name), r)

    elif not first:

        def run(x, y):
            r = y.run
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            w, dw = y.primal, y.tangent
            if dw is None or r.closed or _size(w) >= LARGE or type(x) is not float and _size(x) >= least:
                return otherwise(x, y)
            z = op(x, w)
            dz = rule(None, dw, z, x, w)
            if type(dz) is ndarray is type(z) and dz.shape == z.shape and dz.dtype is z.dtype:
                return cls(z, dz, r)
            return cls(z, _tangent(dz, z, cls, generic, name), r)

    else:

        def run(x, y):
            r = x.run
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            v, dv, w, dw = x.primal, x.tangent, y.primal, y.tangent
            if dv is None or dw is None or r.closed or y.run is not r or _size(v) >= LARGE or _size(w) >= LARGE:
                return otherwise(x, y)  # which raises if it is the run
            z = op(v, w)
            dz = rule(dv, dw, z, v, w)
            if type(dz) is ndarray is type(z) and dz.shape == z.shape and dz.dtype is z.dtype:
                return cls(z, dz, r)
            return cls(z, _tangent(dz, z, cls, generic, name), r)

    return run


def _size(x):
    kind = type(x)
    return x.size if kind is ndarray else 0 if kind is float64 or kind is float else elements(x)


def _tangent(dy, y, cls, generic, name):
    """A tangent brought to its value's space, if it is not in it."""
    kind = type(dy)
    if kind is type(y):
        if kind is float64 or kind is ndarray and dy.shape == y.shape and dy.dtype is y.dtype:
            return dy
    else:
        check_level(generic, dy, cls)
    return match_tangent(dy, y, name)


def _of_one(generic):
    """The rule (dx, y, x, **params) -> dy of an operation of one array, or None."""
    card = generic.card
    if "jvp" in card.rules:
        return None
    if card.partials is not None:
        return None if generic.params else _term(card, 0)
    if (card.kind == "linear" or card.linear) and card.linear in (None, (0,)):
        spread = generic.spread
        return lambda dx, y, x, **params: spread(dx, **params)
    return None


def _of_two(generic, mine):
    """The rule (dx, dy, z, x, y) -> dz of an operation of two arrays, or None."""
    card, op = generic.card, generic.function
    if "jvp" in card.rules:
        rule = card.rules["jvp"]
        return (lambda dx, dy, z, x, y: rule((dx, dy), z, x, y)) if card.kind == "elementwise" else None
    if card.kind == "bilinear":
        if not mine[1]:
            return lambda dx, dy, z, x, y: op(dx, y)
        if not mine[0]:
            return lambda dx, dy, z, x, y: op(x, dy)
        return lambda dx, dy, z, x, y: add(op(dx, y), op(x, dy))
    if card.partials is None:
        return None
    terms = [_term(card, i) if m else None for i, m in enumerate(mine)]
    left, right = cast("Any", terms)
    if any(m and t is None for m, t in zip(mine, terms, strict=True)):
        return None
    if not mine[1]:
        return lambda dx, dy, z, x, y: left(dx, z, x, y)
    if not mine[0]:
        return lambda dx, dy, z, x, y: right(dy, z, x, y)
    slopes = card.partials
    if slopes[0] == 1 and slopes[1] in (1, -1):
        join = add if slopes[1] == 1 else subtract
        return lambda dx, dy, z, x, y: join(dx, dy)
    if slopes[1] == -1:
        return lambda dx, dy, z, x, y: subtract(left(dx, z, x, y), dy)
    if not card.singular and [argument(slope) for slope in slopes] == ["y", "x"]:
        return lambda dx, dy, z, x, y: add(product.times(dx, y), product.times(dy, x))
    return lambda dx, dy, z, x, y: add(left(dx, z, x, y), right(dy, z, x, y))


def argument(slope):
    """"x" or "y" for a slope (z, x, y) that is this argument, by its code; None for others."""
    code = getattr(slope, "__code__", None)
    if code is None or code.co_varnames != ("z", "x", "y"):
        return None
    names = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_FAST", "LOAD_FAST_BORROW")]
    steps = [i.opname for i in dis.get_instructions(code) if i.opname != "RESUME"]
    return names[0] if len(steps) == 2 and len(names) == 1 and names[0] in ("x", "y") else None


def _term(card, i) -> Any:
    """The part (dx, y, *xs) -> dy of the tangent that comes from array i; None if it has no derivative."""
    slope = entry(card.partials, i, card)
    if slope is None:
        return None
    if slope == 1:
        return lambda dx, y, *xs: dx
    if slope == -1:
        return lambda dx, y, *xs: negative(dx)
    if card.singular:
        return lambda dx, y, *xs: masked_product(dx, slope(y, *xs))
    if len(card.partials) == 1:
        return lambda dx, y, x: product.times(dx, slope(y, x))
    name = argument(slope)
    if name is not None:
        return (lambda dx, z, x, y: product.times(dx, x)) if name == "x" else lambda dx, z, x, y: product.times(dx, y)
    return lambda dx, z, x, y: product.times(dx, slope(z, x, y))
