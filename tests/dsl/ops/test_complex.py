"""Parts of complex numbers, and the value of one with the slopes of another."""

import numpy as np
import pytest

import polyad as pa


def test_with_slopes_of():
    y, x = np.array([np.inf, 2.0]), np.array([1.0, 3.0])
    f = lambda x: pa.sum(pa.with_slopes_of(pa.round(x) + 0.25, x**2) * np.array([1.0, 10.0]))
    assert f(x) == 33.75
    for mode in (pa.grad, pa.jacfwd, lambda f: pa.jit(pa.grad(f)), lambda f: lambda x: pa.vmap(pa.grad(f))(x[None])[0]):
        np.testing.assert_array_equal(mode(f)(x), [2, 60])
    np.testing.assert_array_equal(pa.hessian(f)(x), [[2, 0], [0, 20]])
    np.testing.assert_array_equal(pa.grad(lambda y: pa.sum(pa.with_slopes_of(y, x)))(y), 0)
    np.testing.assert_array_equal(pa.with_slopes_of(y, np.zeros((3, 2))), [y, y, y])
    np.testing.assert_array_equal(pa.jit(pa.with_slopes_of)(y, x), y)
    assert pa.with_slopes_of(2.0, 1.0) == 2 and pa.with_slopes_of(np.float32(2), x[0].astype("f")).dtype == np.float32
    with pytest.raises(pa.ShapeError, match="with_slopes_of"):
        pa.with_slopes_of(y, np.zeros(3))
