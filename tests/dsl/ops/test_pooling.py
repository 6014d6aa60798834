"""Pools against loops, and how equal elements share their derivative."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa


def pool_by_loops(reduce, x, window, strides, padding):
    padded = np.pad(x, ((0, 0), (0, 0), *padding), constant_values=np.nan)
    out = [(n - k) // s + 1 for n, k, s in zip(padded.shape[2:], window, strides, strict=True)]
    y = np.zeros((*x.shape[:2], *out))
    for p in np.ndindex(*out):
        place = (..., *[slice(q * s, q * s + k) for q, s, k in zip(p, strides, window, strict=True)])
        y[(..., *p)] = reduce(padded[place], axis=tuple(range(2, x.ndim)))
    return y


@given(st.integers(1, 3), st.data())
def test_pools_against_loops(d, data):
    of = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(d))
    window, strides = of(1, 3), of(1, 3)
    padding = tuple((data.draw(st.integers(0, k - 1)), data.draw(st.integers(0, k - 1))) for k in window)
    x = np.random.default_rng(5).standard_normal((2, 1, *[k + n for k, n in zip(window, of(0, 3), strict=True)]))
    params = {"window": window, "strides": strides, "padding": padding}
    np.testing.assert_array_equal(pa.max_pool(x, **params), pool_by_loops(np.nanmax, x, **params))
    np.testing.assert_allclose(pa.mean_pool(x, **params), pool_by_loops(np.nanmean, x, **params), atol=1e-13)
    g = pa.grad(lambda x: pa.sum(pa.mean_pool(x, **params)))(x)
    np.testing.assert_allclose(g.sum(), pa.mean_pool(x, **params).size, rtol=1e-12)


def test_equal_elements_share_the_derivative_of_a_pool():
    g = pa.grad(lambda x: pa.sum(pa.max_pool(x, window=2)))(np.array([[[1.0, 1.0, 2.0, 3.0]]]))
    np.testing.assert_array_equal(g, [[[0.5, 0.5, 0.0, 1.0]]])
    assert pa.max_pool(np.array([[[-5, -7]]]), window=2, padding=1).tolist() == [[[-5, -7]]]
    assert np.isnan(pa.max_pool(np.array([[[np.nan, 1.0]]]), window=2)).all()
