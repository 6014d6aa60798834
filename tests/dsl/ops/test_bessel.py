"""Bessel functions at zero and of known orders, and the reciprocal of the gamma function at its poles."""

import math

import numpy as np
import pytest
import scipy.special

import polyad as pa


def slope(f, x):
    return float(pa.grad(f)(float(x)))


def test_bessel_functions_at_zero_to_the_third_order():
    third = lambda f: float(pa.grad(pa.grad(pa.grad(f)))(0.0))
    assert third(pa.i1) == pytest.approx(3 / 8, rel=1e-12)  # of x/2 + x³/16 + …
    assert third(pa.j1) == pytest.approx(-3 / 8, rel=1e-12)
    assert third(pa.i0) == third(pa.j0) == 0
    x = np.array([0.5, 0.999, 1.0, 1.001, 3.0])
    expected = (scipy.special.iv(0, x) + scipy.special.iv(2, x)) / 2
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.i1(x)))(x), expected, rtol=1e-14)


def test_bessel_functions_at_zero_and_of_known_orders():
    x = np.linspace(0.1, 9, 7)
    for n, (first, second) in enumerate(((pa.j0, pa.y0), (pa.j1, pa.y1))):
        np.testing.assert_allclose(pa.jv(n, x), first(x), atol=1e-14)
        np.testing.assert_allclose(pa.yv(n, x), second(x), atol=1e-14)
        slopes = [pa.vmap(pa.grad(f))(x) for f in (lambda x, n=n: pa.jv(n, x), first)]
        np.testing.assert_allclose(*slopes, atol=1e-13)
    assert slope(lambda x: pa.jv(1.0, x), 0) == 0.5 and slope(lambda x: pa.iv(0.0, x), 0) == 0
    with pytest.raises(pa.MissingRuleError, match="jv has no derivative by the order"):
        pa.grad(lambda v: pa.jv(v, 1.0))(2.0)


@pytest.mark.parametrize("n", range(5))
def test_reciprocal_gamma_at_the_poles(n):
    assert pa.rgamma(-float(n)) == 0
    np.testing.assert_allclose(slope(pa.rgamma, -n), (-1) ** n * math.factorial(n), rtol=1e-12)
    pa.check_grads(pa.rgamma, (-float(n),), order=2)


def test_multivariate_gamma():
    a = np.array([2.5, 4.0])
    np.testing.assert_allclose(pa.multigammaln(a, 4), scipy.special.multigammaln(a, 4))
    with pytest.raises(pa.ShapeError, match="multigammaln: the dimension"):
        pa.multigammaln(a, 0)
