"""The gamma function and its kin: orders, incomplete integrals by their shape, quantiles, missing slopes."""

import numpy as np
import pytest
import scipy.special

import polyad as pa


def test_polygamma_of_number_and_array_orders():
    x = np.array([0.3, 1.7, 20.0])
    for n in range(4):
        np.testing.assert_allclose(pa.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-13)
    n = np.array([[0], [1], [2]])
    np.testing.assert_allclose(pa.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-13)
    np.testing.assert_allclose(
        pa.grad(lambda x: pa.sum(pa.polygamma(n, x)))(x), scipy.special.polygamma(n + 1, x).sum(0), rtol=1e-13
    )
    assert pa.polygamma(1, np.float32(2)).dtype == np.float32
    single = np.float32(1) / np.arange(1, 8, dtype=np.float32)
    for orders in (np.arange(7), np.arange(7, dtype=np.int32)):  # which make float64 of float32
        for f in (pa.polygamma, pa.jit(pa.polygamma)):
            found = f(orders, single)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, scipy.special.polygamma(orders, single.astype(float)), rtol=1e-13)
    assert pa.polygamma(np.arange(7, dtype=np.int8), single).dtype == np.float32
    with pytest.raises(pa.DTypeError, match="polygamma: the order n must be an integer"):
        pa.polygamma(1.5, x)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_incomplete_gamma_by_its_shape(order):
    a, x = np.meshgrid([0.1, 0.9, 3.0, 40.0, 900.0], [0.01, 0.5, 2.9, 45.0, 850.0])
    h = 1e-3 * np.sqrt(a)
    c, at = [1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280], range(-4, 5)
    below = (lambda a: scipy.special.gammainc(a, x)) if order == 1 else lambda a: pa.gammainc_da(a, x, order=order - 1)
    numeric = sum(k * below(a + i * 8 * h) for i, k in zip(at, c, strict=True)) / (8 * h)
    np.testing.assert_allclose(pa.gammainc_da(a, x, order=order), numeric, rtol=1e-7, atol=1e-9)


def test_incomplete_gamma_by_its_shape_at_the_edges():
    inf, nan = np.inf, np.nan
    a = np.array([2.0, 2.0, 2.0, -1.0, nan, 1e6, 1e8])
    x = np.array([0.0, inf, nan, 1.0, 1.0, 1e6 + 500, 1e8])
    y = pa.gammainc_da(a, x)
    np.testing.assert_array_equal(y[:5], [0, 0, nan, nan, nan])
    pdf = np.exp(-((x[5] - a[5]) ** 2) / (2 * a[5])) / np.sqrt(2 * np.pi * a[5])
    assert y[5] == pytest.approx(-pdf, rel=2e-3)  # by the normal approximation
    assert y[6] == pytest.approx(-1 / np.sqrt(2 * np.pi * a[6]), rel=1e-3)
    assert pa.gammainc_da(np.float32(2), np.float32(1)).dtype == np.float32 and pa.gammainc_da(2, 1) < 0


def test_quantiles_of_the_gamma_distribution_differentiated_implicitly():
    a, p = np.array([0.5, 2.0, 30.0]), np.array([0.2, 0.7, 0.999])
    np.testing.assert_allclose(pa.gammainc(a, pa.gammaincinv(a, p)), p, rtol=1e-12)
    f = lambda a, p: pa.gammaincinv(a, p)
    y, dy = pa.jvp(f, (a, p), (np.ones(3), np.zeros(3)))
    h = 1e-5
    np.testing.assert_allclose(dy, (f(a + h, p) - f(a - h, p)) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize(
    ("op", "args", "argument"),
    [(pa.betainc, (2.0, 1.0, 0.5), 0), (pa.betainc, (2.0, 1.0, 0.5), 1), (pa.zeta, (2.0, 1.0), 0)],
)
@pytest.mark.parametrize("mode", [pa.grad, pa.jacfwd])
def test_a_missing_slope_is_an_error_never_zero(op, args, argument, mode):
    with pytest.raises(pa.MissingRuleError, match=rf"{op.__name__} has no derivative by .*stop_gradient"):
        mode(op, argnums=argument)(*args)
