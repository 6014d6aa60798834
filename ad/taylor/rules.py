"""From cards to Taylor coefficients. With y = f(x) along a curve, y'(t) = f'(x(t)) x'(t): the operation's derivative rule,
run on series, gives coefficient k - 1 of y', hence k y_k, from the coefficients of x up to k and those of y below k.

So every operation with a derivative has all of them. Three kinds need no y': linear operations act on each coefficient,
bilinear ones by products of series (Cauchy), and elementwise ones with `partials` by y' = Σ p_i x_i', the product written
out on coefficients, with the partials p_i as series. An operation may have a rule `taylor` of its own.

Source of the recurrences: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 13.
"""

from functools import partial, reduce
from typing import Any

from ...dispatch import check_level
from ...dsl import add, divide, multiply, negative
from ...dsl.ops.arithmetic import convolved, masked_product
from ...dsl.ops.create import zeros_like
from ..forward.rules import forward_rule
from ..rules.formulas import entry
from ..rules.nan_safe import product
from ..rules.projection import match_tangent


class Coefficients:
    """The Taylor coefficients 1, 2, … of a value, None where zero: those known so far, and the rule for the next."""

    __slots__ = ("_known", "rule")
    rule: Any

    def __init__(self, known=(), rule: Any = None):
        self._known, self.rule = list(known), rule

    def known(self, order):
        """The coefficients up to an order. After that there is no further one to be asked for."""
        self(order)
        self.rule = None
        return self._known[:order]

    def __call__(self, k):
        """Coefficient k ≥ 1."""
        while len(self._known) < k:
            self._known.append(self.rule(len(self._known) + 1))
        return self._known[k - 1] if k else None

    def parts(self):
        """The values of the coefficients known so far."""
        return [c for c in self._known if c is not None]

    def changed(self, change):
        """These with `change(c)` in the place of each coefficient c that is not zero; itself if nothing changes."""
        new = lambda c: c if c is None else change(c)
        known, rule = list(map(new, self._known)), self.rule
        if all([a is b for a, b in zip(known, self._known, strict=True)]):
            return self
        return Coefficients(known, None if rule is None else lambda k: new(rule(k)))

    def vanish(self):
        """Return whether all are known, and zero."""
        return self.rule is None and all([c is None for c in self._known])

    def slope(self, k):
        """k times coefficient k: coefficient k - 1 of the derivative along the curve. Not kept here: a value outlives what is
        computed from it inside a checkpoint."""
        c = self(k)
        return c if c is None or k == 1 else multiply(float(k), c)


def growth(generic, mine):
    """Return the function that gives an operation's coefficients: (args, params) -> (result, or tuple of them) -> for each, k
    -> coefficient k.

    mine: which of the arrays are series; the others are constants.
    """
    card = generic.card
    if generic.dense_rules:  # by the types of the arguments
        return _by_derivative(generic, mine)
    if "taylor" in card.rules:
        return _by_own_rule(generic, card.rules["taylor"], mine)
    if "jvp" not in card.rules:
        if card.partials is not None:
            return _by_partials(generic, mine)
        if card.kind == "bilinear":
            return _bilinear(generic, mine)
        positions = range(len(mine)) if card.linear is None else card.linear
        if (card.kind == "linear" or card.linear) and all([i in positions for i, m in enumerate(mine) if m]):
            return _linear(generic, mine, positions)
    return _by_derivative(generic, mine)


def _at(x, followed):
    """An argument as a function of j: coefficient j of its series, None for zero."""
    if not followed:
        return lambda j: None if j else x
    return lambda j: x.coefficients(j) if j else x.primal


def _checked_coefficient(generic, y, c):
    """A coefficient brought to its value's shape and dtype."""
    if c is None:
        return None
    check_level(generic, c, type(y))
    return match_tangent(c, y.primal, generic.name)


def _by_own_rule(generic, rule, mine):
    def grow(args, params):
        xs = [_at(a, m) for a, m in zip(args, mine, strict=True)]

        def rules(y):
            otherwise = []

            def coefficient(k):
                c = rule(k, _at(y, True), *xs, **params)
                if c is not NotImplemented:
                    return _checked_coefficient(generic, y, c)
                if not otherwise:
                    otherwise.extend(_by_derivative(generic, mine)(args, params)(y))
                return otherwise[0](k)

            return [coefficient]

        return rules

    return grow


def _bilinear(generic, mine):
    op = generic.function

    def grow(args, params):
        a, b = [_at(x, m) for x, m in zip(args, mine, strict=True)]
        product = (lambda p, q: op(p, q, **params)) if params else op
        return lambda y: [lambda k: _checked_coefficient(generic, y, convolved(product, k, a, b))]

    return grow


def _linear(generic, mine, positions):
    """On each coefficient; that of an argument which does not change is zero."""
    spread = generic.spread

    def grow(args, params):
        def coefficient(k):
            cs = [a.coefficients(k) if m else None for a, m in zip(args, mine, strict=True)]
            if all([c is None for c in cs]):
                return None
            for i, c in enumerate(cs):
                if c is None:
                    x = args[i].primal if mine[i] else args[i]
                    cs[i] = zeros_like(x) if i in positions else x
            return spread(*cs, **params)

        return _rules_of(generic, coefficient)

    return grow


def _rules_of(generic, coefficient):
    """For each result a rule, from a function that gives coefficient k of the result, or of all of them as a tuple."""

    def rules(y):
        if not isinstance(y, tuple):
            return [lambda k: _checked_coefficient(generic, y, coefficient(k))]
        found = {}

        def part(j, k):
            if k not in found:
                found[k] = coefficient(k)
            return None if found[k] is None else _checked_coefficient(generic, y[j], found[k][j])

        return [partial(part, j) for j in range(len(y))]

    return rules


def _by_partials(generic, mine):
    partials, places = generic.card.partials, [i for i, m in enumerate(mine) if m]
    chosen = [(i, entry(partials, i, generic.card)) for i in places]

    def grow(args, params):
        slopes = {}  # argument -> its partial as a series, once it has been asked for
        moves = {i: {} for i in places}  # argument -> its slopes by number

        def term(k, y, i, slope):
            dx, known = args[i].coefficients.slope, moves[i]
            if slope is None:
                return None
            if slope == 1 or slope == -1:
                c = dx(k)
                return c if slope == 1 or c is None else negative(c)
            if i not in slopes:
                p = slope(y, *args, **params)
                slopes[i] = _at(p, type(p) is type(y))
            times = masked_product if generic.card.singular else product.times
            return convolved(times, k - 1, lambda j: known[j] if j in known else known.setdefault(j, dx(j + 1)), slopes[i])

        def coefficient(k, y):
            parts = [t for t in [term(k, y, i, slope) for i, slope in chosen] if t is not None]
            if not parts:
                return None
            whole = reduce(add, parts)
            return _over(whole, k)

        return lambda y: [lambda k: _checked_coefficient(generic, y, coefficient(k, y))]

    return grow


def _by_derivative(generic, mine):
    rule = forward_rule(generic)

    def grow(args, params):
        whose = mine.index(True)

        def slopes(y):
            """The results' derivatives along the curve, as series."""
            dxs = tuple([_slope_of(a) if m else None for a, m in zip(args, mine, strict=True)])
            return None if all([dx is None for dx in dxs]) else rule(dxs, y, *args, **params)

        def rules(y):
            found = []

            def coefficient(k):
                if not found:
                    found.append(slopes(y))
                return _each(found[0], lambda dy: _over(_at(dy, type(dy) is type(args[whose]))(k - 1), k))

            return _rules_of(generic, coefficient)(y)

        return rules

    return grow


def _slope_of(x):
    """The derivative of a series along the curve, as a series; None if it is zero."""
    along = x.coefficients
    if along.vanish():
        return None
    first = along.slope(1)
    return x.run.wrap(zeros_like(x.primal) if first is None else first, Coefficients(rule=lambda k: along.slope(k + 1)))


def _each(dy, change):
    """A change of a result's derivative, or of those of several; None stays."""
    if isinstance(dy, tuple):
        return tuple([None if part is None else change(part) for part in dy])
    return None if dy is None else change(dy)


def _over(c, k):
    return c if c is None or k == 1 else divide(c, float(k))
