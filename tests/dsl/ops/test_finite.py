"""Questions about the parts of numbers, and repairs, against NumPy and one number at a time."""

import math

import numpy as np
import pytest

import polyad as pa

HARD = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan]


def test_remainders_have_the_sign_of_the_first():
    for a in (7.1, -3.3, 0.0, -0.0, 6.0):
        for b in (2.5, -2.0, 3.0):
            assert math.copysign(1, pa.fmod(a, b)) == math.copysign(1, math.fmod(a, b)) and pa.fmod(a, b) == math.fmod(a, b)
            assert pa.grad(pa.fmod, argnums=(0, 1))(a, b) == (1.0, -math.trunc(a / b))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_infinities_by_their_sign(dtype):
    x = np.array(HARD, dtype)
    for f in (pa.isposinf, pa.jit(pa.isposinf)):
        assert f(x).tolist() == [v == math.inf for v in x.tolist()]
    for f in (pa.isneginf, pa.jit(pa.isneginf)):
        assert f(x).tolist() == [v == -math.inf for v in x.tolist()]
    z = np.array([1.0, 2j, 1 + 1e-300j])
    assert pa.isreal(z).tolist() == [True, False, False] and pa.iscomplex(z).tolist() == [False, True, True]
    assert pa.isreal(x).all() and not pa.iscomplex(x).any()


def test_real_parts_of_what_is_nearly_real():
    near, far = np.array([1 + 3e-15j, 2.0]), np.array([1 + 3e-13j, 2.0])
    assert pa.real_if_close(near).dtype == float and pa.real_if_close(far).dtype == complex
    assert pa.real_if_close(far, tol=1e-12).tolist() == [1.0, 2.0] and pa.real_if_close(far, tol=1e-13).dtype == complex
    assert pa.real_if_close(far, tol=10_000).dtype == float
    assert pa.real_if_close(np.zeros(0, complex)).shape == (0,)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, complex, int])
@pytest.mark.parametrize("params", [{}, {"nan": 2.0, "posinf": 9.0}, {"neginf": -4.0}])
def test_what_is_not_finite_is_replaced(dtype, params):
    x = np.array(HARD if dtype is not int else [1, 2]).astype(dtype)
    with np.errstate(over="ignore"):
        for f in (lambda x: pa.nan_to_num(x, **params), pa.jit(lambda x: pa.nan_to_num(x, **params))):
            np.testing.assert_array_equal(f(x), np.nan_to_num(x, **params), strict=True)
    if dtype is float:
        np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.nan_to_num(x, **params)))(x), np.isfinite(x) * 1.0)


@pytest.mark.parametrize("params", [{}, {"period": 1.5}, {"discont": 4.0}, {"discont": 2.0, "period": 1.0}])
@pytest.mark.parametrize("shape", [(7,), (1,), (0,), (2, 5)])
def test_angles_without_jumps(params, shape):
    x = np.random.default_rng(3).normal(size=shape) * 6
    for axis in range(-len(shape), len(shape)):
        np.testing.assert_allclose(pa.unwrap(x, axis=axis, **params), np.unwrap(x, axis=axis, **params), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.unwrap(x, **params)))(x), np.ones(shape))
    with pytest.raises(pa.ShapeError, match="unwrap"):
        pa.unwrap(x, axis=2)


def test_half_a_period_keeps_its_sign():
    for x in ([0.0, math.pi], [0.0, -math.pi], [0.0, 3 * math.pi], [math.pi, 0.0]):
        np.testing.assert_allclose(pa.unwrap(np.array(x)), np.unwrap(x), rtol=1e-15)
