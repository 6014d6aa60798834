"""Trigonometric and hyperbolic functions and their slopes, against mpmath at small, large and special numbers."""

import mpmath
import numpy as np
import pytest

import polyad as pa

NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
INSIDE = [-1 + 1e-12, -0.5, 0.0, 1e-300, 0.7, 1 - 1e-9]
POINTS = {"arcsin": INSIDE, "arccos": INSIDE, "arctanh": INSIDE, "arccosh": [1 + 1e-9, 1.5, 20.0, 1e10]}
EVERYWHERE = [-20.0, -1.0, 0.0, 1e-300, 1e-8, 0.5, 3.0, 19.0]
ALL = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh")


@pytest.mark.parametrize("name", ALL)
def test_values_and_slopes(name):
    f, exact = getattr(pa, name), getattr(mpmath, NAMES.get(name, name))
    with mpmath.workdps(60):
        for x in POINTS.get(name, EVERYWHERE):
            wanted = [float(v) for v in (exact(mpmath.mpf(x)), mpmath.diff(exact, mpmath.mpf(x), h=mpmath.mpf(10) ** -30))]
            for slope in (pa.grad(f), pa.jacfwd(f)):
                np.testing.assert_allclose([f(x), slope(x)], wanted, rtol=4e-15, atol=1e-25, err_msg=f"{name} at {x}")


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh"])
def test_slopes_of_complex_numbers(name):
    f, exact = getattr(pa, name), getattr(mpmath, NAMES.get(name, name))
    for z in (0.3 + 0.4j, -1.2 + 0.1j, 0.5j):
        slope = pa.jvp(f, (np.complex128(z),), (np.complex128(1.0),))[1]
        np.testing.assert_allclose(slope, complex(mpmath.diff(exact, z)), rtol=1e-10)


def test_the_angle_of_a_point():
    for y, x in ((3.0, 4.0), (-3.0, 4.0), (1e-200, 1e-200), (1e200, -1e200), (0.0, -2.0), (5.0, 0.0)):
        assert pa.arctan2(y, x) == np.arctan2(y, x)
        r2 = mpmath.mpf(y) ** 2 + mpmath.mpf(x) ** 2
        np.testing.assert_allclose(pa.grad(pa.arctan2, argnums=(0, 1))(y, x), [float(x / r2), float(-y / r2)], rtol=1e-14)
    assert pa.grad(pa.arctan2, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh", "arctanh"])
def test_outside_is_not_a_number(name):
    with np.errstate(invalid="ignore"):
        assert np.isnan(getattr(pa, name)(-1.5)) and np.isnan(getattr(pa, name)(np.array([-2.0, np.nan]))).all()
