"""Forward rules: the card's, or reverse rules transposed where a card has those alone."""

import numpy as np
import pytest
from declaring import kernel

import polyad as pa

pytestmark = [pytest.mark.usefixtures("forget_declared"), pytest.mark.quick]

close = np.testing.assert_allclose
X, Y = np.array([0.3, 1.2, 2.0]), np.array([1.5, 0.4, 0.7])


def logistic(x):
    return 1 / (1 + pa.exp(-x))


def test_reverse_rules_alone_give_every_order_of_both_modes():
    @pa.opaque(kernel=None)
    def soft(x, /):
        """log(1 + e^x)"""

    op = kernel(soft, lambda x: np.log1p(np.exp(x)))
    op.rule("vjp")([lambda ct, y, x: ct * logistic(x)])
    for d in (pa.grad, pa.derivative):
        close(pa.derivative(d(d(op)))(0.3), (lambda s: s * (1 - s) * (1 - 2 * s))(logistic(0.3)))
    pa.check_grads(op, (X,), order=2)


RULES = {
    "one each": {"vjp": [lambda ct, y, *xs: both(0, ct, *xs), lambda ct, y, *xs: both(1, ct, *xs)]},
    "together": {"vjp_all": lambda ct, y, *xs: (both(0, ct, *xs), both(1, ct, *xs))},
}


def both(i, ct, x, y):
    """The cotangent of x (i = 0) or y by those of x y² and sin x, None for no cotangent."""
    parts = [(y * y, pa.cos(x)), (2 * x * y, None)][i]
    terms = [c * part for c, part in zip(ct, parts, strict=True) if c is not None and part is not None]
    return sum(terms[1:], terms[0]) if terms else None


@pytest.mark.parametrize("kind", RULES)
def test_of_several_results_each_by_those_arrays_that_have_tangents(kind):
    @pa.opaque(kernel=None, numpy=())
    def two(x, y, /):
        """x y² and sin x."""

    kernel(two, lambda x, y: (x * y * y, np.sin(x)))
    for name, rule in RULES[kind].items():
        two.rule(name)(rule)
    dx, dy = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.0, -1.0])
    first, second = pa.jvp(two, (X, Y), (dx, dy))[1]
    close(first, dx * Y**2 + 2 * X * Y * dy)
    close(second, np.cos(X) * dx)
    close(pa.jvp(lambda x: two(x, Y), (X,), (dx,))[1][0], dx * Y**2)
    first, second = pa.jvp(lambda y: two(X, y), (Y,), (dy,))[1]
    close(first, 2 * X * Y * dy)
    close(second, np.zeros(3))


def test_without_any_rule_the_card_is_told_what_to_add():
    @pa.opaque(kernel=None)
    def bare(x, /):
        """sin x, without rules"""

    kernel(bare, np.sin)
    advice = r"bare has no forward derivative; add @bare\.rule\('jvp'\) under its declaration, or say differentiable=False"
    with pytest.raises(pa.MissingRuleError, match=advice):
        pa.jvp(bare, (X,), (X,))
