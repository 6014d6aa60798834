"""Activations: no overflow, infinities, slopes at kinks, dtypes."""

import math

import numpy as np
import pytest
import scipy.special

import polyad as pa


def slope(f, x):
    return float(pa.grad(f)(float(x)))


def test_logistic_curve_without_overflow_and_cancellation():
    x = np.array([-np.inf, -800.0, -1.0, 0.0, 1.0, 800.0, np.inf])
    np.testing.assert_allclose(pa.expit(x), scipy.special.expit(x), rtol=1e-15)
    assert pa.expit is pa.sigmoid and pa.expit(np.float32(1)).dtype == np.float32
    assert slope(pa.expit, 40) == pytest.approx(math.exp(-40), rel=1e-14)
    assert slope(pa.log_sigmoid, -800) == 1 and pa.log_sigmoid(-800.0) == -800
    assert slope(pa.softplus, 800) == 1 and pa.softplus(-800.0) == 0
    assert np.isnan(pa.expit(np.nan))


@pytest.mark.parametrize("f", [pa.logaddexp, pa.logaddexp2])
def test_logaddexp_of_infinities(f):
    inf = np.inf
    by = pa.grad(f, argnums=(0, 1))
    assert f(-inf, -inf) == -inf and by(-inf, -inf) == (0.0, 0.0)
    assert f(-inf, 1.0) == 1 and by(-inf, 1.0) == (0.0, 1.0)
    assert f(inf, 1.0) == inf and by(inf, 1.0) == (1.0, 0.0)


def test_conventions_of_activations():
    assert slope(pa.relu, 0) == 0 and slope(pa.relu, 2) == 1 and np.isnan(pa.relu(np.nan))
    assert slope(pa.leaky_relu, 0) == 1 and slope(pa.leaky_relu, -1) == 0.01
    assert slope(pa.elu, -800) == 0 and pa.elu(800.0) == 800
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(pa.gelu(x), x * scipy.special.ndtr(x), rtol=1e-14)
    np.testing.assert_allclose(pa.gelu(x, approximate=True), pa.gelu(x), atol=1e-3)
    assert pa.relu(np.arange(-1, 2)).dtype == np.int64 and pa.relu(np.float32(2)).dtype == np.float32


@pytest.mark.parametrize("name", ["expit", "log_sigmoid", "softplus", "silu"])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "bool"])
def test_activations_of_integers_are_those_of_their_values(name, dtype):
    x, f = np.array([0, 1, 1], dtype), getattr(pa, name)
    np.testing.assert_allclose(f(x), f(x.astype(float)), rtol=1e-2)
