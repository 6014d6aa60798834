"""Central differences against derivatives written by hand, by mpmath, and the order of their error."""

from typing import NamedTuple

import mpmath
import numpy as np
import pytest

import polyad as pa
from polyad.ad.tools.finite_differences import STEP, difference_step, numerical_jvp

x, dx = np.array([0.3, -1.2, 2.0]), np.array([1.0, 0.5, -2.0])


@pytest.mark.parametrize(("f", "slope"), [(np.sin, np.cos), (np.exp, np.exp), (lambda x: x**3, lambda x: 3 * x**2)])
def test_functions_of_an_array(f, slope):
    np.testing.assert_allclose(numerical_jvp(f, (x,), (dx,)), slope(x) * dx, rtol=1e-9)


def test_against_mpmath():
    for at in (0.1, 0.7, 3.0):
        expected = float(mpmath.diff(mpmath.gamma, at))
        found = numerical_jvp(lambda x: np.float64(mpmath.gamma(x)), (np.float64(at),), (1.0,))
        assert abs(found - expected) < 1e-7 * max(1, abs(expected))


def test_the_error_falls_as_the_square_of_the_step():
    errors = [abs(numerical_jvp(np.sin, (1.0,), (1.0,), eps=h) - np.cos(1.0)) for h in (4e-2, 2e-2, 1e-2)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4, rtol=1e-2)


class Pair(NamedTuple):
    a: object
    b: object


def test_trees_and_what_has_no_tangent():
    f = lambda p, n: {"product": p.a * p.b, "count": n + 1, "sum": [p.a.sum()]}
    found = numerical_jvp(f, (Pair(x, 2.0), 3), (Pair(dx, 0.25), pa.NoTangent))
    np.testing.assert_allclose(found["product"], 2.0 * dx + 0.25 * x, rtol=1e-9)
    np.testing.assert_allclose(found["sum"], [dx.sum()], rtol=1e-9)
    assert found["count"] is pa.NoTangent


def test_complex_arguments():
    z, dz = np.array([1 + 2j, -0.5j]), np.array([1j, 2.0])
    np.testing.assert_allclose(numerical_jvp(lambda z: z**2, (z,), (dz,)), 2 * z * dz, rtol=1e-9)
    np.testing.assert_allclose(numerical_jvp(np.conj, (z,), (dz,)), np.conj(dz), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_arguments_are_moved_in_double_precision(dtype):
    found = numerical_jvp(np.sin, (x.astype(dtype),), (dx.astype(dtype),))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.cos(x.astype(dtype).astype(float)) * dx, rtol=1e-9)


def test_the_step_follows_what_the_function_rounds_to():
    assert difference_step(np.sin, (x,)) == STEP
    assert difference_step(np.sin, (x.astype(np.float32),)) == STEP  # in double precision
    for dtype in (np.float32, np.float16):
        step = difference_step(lambda x, dtype=dtype: np.sin(x).astype(dtype), (x,))
        assert step == pytest.approx(float(np.finfo(dtype).eps) ** (1 / 3)) and step > STEP
    assert difference_step(lambda x: 3, (x,)) == STEP
