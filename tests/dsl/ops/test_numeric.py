"""NumPy's smaller functions: sinc near zero, parts of numbers, steps, whole numbers."""

import numpy as np
import pytest

import polyad as pa
from polyad.ad.tools.check import numerical_jvp


def slope(f, x):
    return float(pa.grad(f)(float(x)))


def test_sinc_near_zero():
    x = np.array([0.0, 1e-8, -1e-3, 0.3, 0.32, 1.0])
    with np.errstate(all="ignore"):
        z = np.pi * np.where(np.abs(x) < 0.1, 1.0, x)
        near = -(np.pi**2) * x / 3 * (1 - (np.pi * x) ** 2 / 10)
        exact = np.where(np.abs(x) < 0.1, near, np.pi * (np.cos(z) - np.sin(z) / z) / z)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.sinc(x)))(x), exact, rtol=1e-11)
    assert slope(pa.grad(pa.sinc), 0) == pytest.approx(-(np.pi**2) / 3, rel=1e-14)
    assert slope(pa.grad(pa.grad(pa.grad(pa.sinc))), 0) == pytest.approx(np.pi**4 / 5, rel=1e-14)


def test_ldexp_has_its_slope_at_zero():
    assert slope(lambda x: pa.ldexp(x, 3), 0) == 8
    assert slope(lambda x: np.ldexp(x, 3), 0) == 8
    g = pa.grad(lambda x: pa.sum(pa.ldexp(x, np.array([[1], [-1]]))))(np.zeros(2, np.float32))
    np.testing.assert_array_equal(g, np.full(2, 2.5, np.float32))
    with pytest.raises(pa.DTypeError, match="ldexp"):
        pa.ldexp(np.ones(2), np.ones(2))


def test_frexp_and_modf():
    x = np.array([0.0, -0.0, 1.5, -6.25, np.inf, -np.inf, np.nan])
    for ours, numpys in ((pa.frexp, np.frexp), (pa.modf, np.modf)):
        for mine, theirs in zip(ours(x), numpys(x), strict=True):
            np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(np.signbit(mine), np.signbit(theirs))
    assert slope(lambda x: np.frexp(x)[0], 6.0) == 1 / 8
    assert slope(lambda x: np.modf(x)[0] + 10 * np.modf(x)[1], -6.25) == 1
    m, n = pa.vmap(pa.frexp)(np.array([1.0, 8.0]))
    np.testing.assert_array_equal(n, [1, 4])
    program = pa.make_ir(lambda x: pa.frexp(x))(8.0)
    assert program(8.0) == (0.5, 4)


def test_heaviside_steps():
    by = pa.grad(pa.heaviside, argnums=(0, 1))
    assert by(0.0, 0.5) == (0.0, 1.0) and by(2.0, 0.5) == (0.0, 0.0) and pa.heaviside(0.0, 0.25) == 0.25


def test_numpys_names_are_answered():
    x, y = np.array([0.5, 1.5]), np.array([2.0, 3.0])
    for name in ("deg2rad", "rad2deg", "radians", "degrees", "fabs", "sinc", "i0"):
        f = getattr(np, name)
        numeric = numerical_jvp(lambda x, f=f: f(x), (x,), (np.ones(2),))
        np.testing.assert_allclose(pa.jvp(f, (x,), (np.ones(2),))[1], numeric, rtol=1e-6)
    for name in ("logaddexp", "logaddexp2", "float_power", "heaviside"):
        f = getattr(np, name)
        numeric = numerical_jvp(f, (x, y), (np.ones(2), np.ones(2)))
        np.testing.assert_allclose(pa.jvp(f, (x, y), (np.ones(2), np.ones(2)))[1], numeric, rtol=1e-6)
    assert pa.float_power(np.float32(2), 0.5).dtype == np.float64 and pa.float_power(2, -1) == 0.5
    assert pa.fabs(-2).dtype == np.float64 and pa.gcd(12, 18) == 6 and pa.lcm(4, 6) == 12
    with pytest.raises(pa.DTypeError, match="gcd"):
        pa.gcd(1.5, 2)
    with pytest.raises(pa.DTypeError, match="fabs"):
        pa.fabs(1j)
