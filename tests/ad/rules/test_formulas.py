"""What is read off a card: partial derivatives that are one of the arguments."""

import numpy as np
import pytest

import polyad as pa
from polyad.ad.rules.formulas import returned

RETURNED = [
    (lambda z, x, y: y, 1), (lambda z, x, y: x, 0), (lambda z, x, y: z, None), (lambda z, x, y: x * y, None),
    (lambda z, x, y: np.cos(x), None), (lambda z, x, y: None, None), (lambda z, x, y: x if x else y, None),
    (lambda z, x, y: (x, y)[0], 0), (lambda z, x, y: -y, None), (np.add, None), (lambda z, x: x, None),
    (lambda z, *xs: xs[1], None), (lambda z, x, y: y if x == 0 else x, None), (lambda z, x, y: y if True else x, 1),
]  # fmt: skip


@pytest.mark.parametrize(("slope", "place"), RETURNED)
def test_partials_that_are_an_argument(slope, place):
    assert returned(slope, 2) == place


def test_partials_of_users_in_both_modes():
    """The same number, however the partial is written, and whichever of the arrays are followed."""
    x, y, v = np.array([0.3, 2.0]), np.array([1.5, -0.7]), np.array([1.0, 3.0])
    for slopes in ([lambda z, x, y: y, lambda z, x, y: x], [lambda z, x, y: y * 1.0, lambda z, x, y: x + 0.0]):
        op = pa.scalar_rule(np.multiply, *slopes, name="product", vectorized=True)
        np.testing.assert_allclose(pa.jvp(op, (x, y), (v, v))[1], v * y + x * v)
        np.testing.assert_allclose(pa.jvp(lambda x: op(x, y), (x,), (v,))[1], v * y)
        np.testing.assert_allclose(pa.grad(lambda x, y: pa.sum(op(x, y) * v), argnums=(0, 1))(x, y), (v * y, v * x))
        np.testing.assert_allclose(pa.grad(lambda y: pa.sum(op(x, y) * v))(y), v * x)
