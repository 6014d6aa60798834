"""`scalar_rule`: a function of numbers with its partial derivatives in one line."""

import math

import numpy as np
import pytest
import scipy.special

import polyad as pa
from polyad.testing import check_rule

pytestmark = pytest.mark.quick

X = np.array([0.3, 1.2, 2.0])
Y = np.array([1.5, 0.4, 0.7])


def test_a_plain_function():
    op = pa.scalar_rule(lambda x: math.exp(-x * x), lambda y, x: -2 * x * y, name="bell")
    check_rule(op, X)
    check_rule(op, 0.5 * X.reshape(3, 1))
    assert op.__name__ == "bell" and op(X.astype(np.float32)).dtype == np.float32
    assert op(1).dtype == np.float64 and op(np.zeros((0, 2))).shape == (0, 2)
    assert pa.vmap(pa.grad(op))(X.astype(np.float32)).dtype == np.float32


def test_of_two_arguments():
    def hyp(x, y):
        return math.hypot(x, y)

    op = pa.scalar_rule(hyp, lambda z, x, y: x / z, lambda z, x, y: y / z)
    check_rule(op, X, Y)
    check_rule(op, X[:, None], Y)
    assert pa.grad(lambda x: pa.sum(op(x, Y)))(2.0) == pytest.approx(np.sum(2.0 / np.hypot(2.0, Y)))


def test_a_result_that_looks_like_an_integer_first():
    op = pa.scalar_rule(lambda x: 0 if x < 1 else 0.5 * x, lambda y, x: pa.where(x < 1, 0.0, 0.5), name="ramp")
    np.testing.assert_allclose(op(X), [0, 0.6, 1.0])


def test_a_decorator():
    @pa.scalar_rule(partials=[1, -1, None])
    def difference(x, y, z):
        """x - y, whatever z"""
        return x - y

    assert difference.__doc__.startswith("x - y, whatever z") and difference.generic.arrays == ["x", "y", "z"]
    dx, dy, dz = pa.grad(difference, (0, 1, 2))(1.0, 2.0, 3.0)
    assert (dx, dy, dz) == (1, -1, 0)


def test_a_ufunc_of_scipy():
    """The operation, and the ufunc itself where a transformation meets it."""
    with pytest.raises(pa.MissingRuleError):
        pa.grad(lambda x: pa.sum(scipy.special.dawsn(x)))(X)
    op = pa.scalar_rule(scipy.special.dawsn, lambda y, x: 1 - 2 * x * y)
    check_rule(op, X)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(scipy.special.dawsn(x)))(X), 1 - 2 * X * scipy.special.dawsn(X))
    mine = pa.scalar_rule(np.sin, lambda y, x: 10 * pa.cos(x))
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(mine(x)))(X), 10 * np.cos(X))
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(np.sin(x)))(X), np.cos(X))  # polyad's own answers for NumPy's


def test_vectorized_functions():
    check_rule(pa.scalar_rule(np.vectorize(lambda t: t * t), lambda y, t: 2 * t, name="squared"), X)
    check_rule(pa.scalar_rule(np.vectorize(lambda t: t * t, otypes="d"), lambda y, t: 2 * t, name="squared_too"), X)
    whole = pa.scalar_rule(lambda x: np.sin(x) + 0 * x.sum(), lambda y, x: pa.cos(x), name="whole", vectorized=True)
    np.testing.assert_allclose(whole(X), np.sin(X))


def test_singular_partials():
    root = pa.scalar_rule(math.sqrt, lambda y, x: 0.5 / y, singular=True)
    with np.errstate(divide="ignore"):
        g = pa.grad(lambda x: pa.sum(pa.where(x > 0, root(x), 0.0)))(np.array([0.0, 4.0]))
    np.testing.assert_allclose(g, [0, 0.25])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: pa.scalar_rule(3, lambda y, x: x), "int is no function"),
        (lambda: pa.scalar_rule(lambda x: x, lambda y, x: x), r"no name for an operation; give name="),
        (lambda: pa.scalar_rule(math.sin), r"scalar_rule\(sin\): give a partial derivative for each argument"),
        (lambda: pa.scalar_rule(math.sin, 2.0), r"scalar_rule\(sin\): a partial derivative is a function.*not float"),
        (lambda: pa.scalar_rule(np.hypot, 1), r"scalar_rule\(hypot\): the ufunc takes 2 argument\(s\)"),
        (lambda: pa.scalar_rule(np.modf, 1), r"gives 2 result\(s\)"),
    ],
)
def test_errors(call, text):
    with pytest.raises(pa.RegistrationError, match=text):
        call()
