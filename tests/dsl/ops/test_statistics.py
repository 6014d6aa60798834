"""Spread, averages, covariances: against NumPy, and where they are singular or not numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_samples import check, choose_axis, numbers

import polyad as pa


@settings(max_examples=40)
@given(numbers, st.data())
def test_spread(x, data):
    axis, keepdims = choose_axis(data, x), data.draw(st.booleans())
    for name in ("var", "std", "ptp", "median"):
        check(name, x, axis=axis, keepdims=keepdims)
    n = x.size if axis is None or isinstance(axis, tuple) else x.shape[axis]
    if n > 1:
        check("var", x, axis=axis, ddof=1)
        check("std", x, axis=axis, correction=1)
    for values in (x.astype(np.float32), x.astype(int), x + 1j):
        for name in ("var", "std"):
            assert getattr(pa, name)(values, axis=axis).dtype == getattr(np, name)(values, axis=axis).dtype
            np.testing.assert_allclose(getattr(pa, name)(values, axis=axis), getattr(np, name)(values, axis=axis), rtol=1e-5)


def test_deviation_of_equal_elements_has_slope_0():
    x = np.ones((2, 3))
    for std in (pa.std, np.std, pa.nanstd, lambda x: x.std()):
        np.testing.assert_array_equal(pa.grad(std)(x), np.zeros((2, 3)))
        assert pa.jvp(std, (x,), (np.eye(2, 3),))[1] == 0.0
        assert not pa.hessian(std)(np.ones(2)).any()


def test_given_mean(rng):
    x = rng.standard_normal((3, 4))
    m = x.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(pa.var(x, axis=1, mean=m), np.var(x, axis=1, mean=m))
    slope = pa.grad(lambda m: pa.sum(pa.var(x, axis=1, mean=m)))(m + 1.0)
    np.testing.assert_allclose(slope, np.full((3, 1), 2.0))


def test_no_degrees_of_freedom():
    with np.errstate(all="ignore"):
        assert np.isnan(pa.var(np.ones(1), ddof=1)) and np.isnan(pa.nanvar(np.ones(1), ddof=2))


# ---------------------------------------------------------------------- averages and covariances
def test_averages(rng):
    x = rng.standard_normal((2, 3, 4))
    for axis, weights in ((None, None), (1, None), (1, rng.uniform(1, 2, 3)), (None, rng.uniform(1, 2, (2, 3, 4))),
                          ((2, 0), rng.uniform(1, 2, (4, 2))), (-1, rng.uniform(1, 2, 4))):  # fmt: skip
        check("average", x, axis=axis, weights=weights)
        found, expected = (f(x, axis=axis, weights=weights, returned=True) for f in (pa.average, np.average))
        np.testing.assert_allclose(found[1], expected[1])
        if weights is not None:
            pa.check_grads(lambda x, w, a=axis: np.average(x, axis=a, weights=w), (x, weights), order=2)
    with pytest.raises(pa.ShapeError, match="average: weights .* fit neither"):
        pa.average(x, weights=np.ones(4))


def test_covariances(rng):
    x, y = rng.standard_normal((3, 5)), rng.standard_normal(5)
    f, a = rng.integers(1, 4, 5), rng.uniform(0.5, 1.5, 5)
    for params in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, {"y": y}, {"fweights": f}, {"aweights": a},
                   {"fweights": f, "aweights": a}, {"fweights": f, "aweights": a, "ddof": 2}):  # fmt: skip
        check("cov", x, **params)
    check("corrcoef", x)
    check("corrcoef", x, y=y)
    check("cov", y)
    check("corrcoef", y)
    assert pa.cov(x.astype(np.float32)).dtype == np.float64
    pa.check_grads(lambda y, a: np.cov(x, y=y, aweights=a), (y, a), order=1)
    pa.check_grads(lambda x: pa.corrcoef(x), (x,), order=2, rtol=1e-3)
    with pytest.raises(pa.ShapeError, match="cov: .* has more than two axes"):
        pa.cov(np.ones((2, 2, 2)))


@pytest.mark.parametrize(("error", "call", "text"), [
    (pa.ShapeError, lambda: pa.median(np.zeros(0)), "median: .* has no elements"),
    (pa.ShapeError, lambda: pa.median(np.ones(2) + 1j), "median: .* is complex, and complex numbers have no order"),
    (pa.ShapeError, lambda: pa.quantile(np.ones(2), 1.5), "quantile"),
    (pa.ShapeError, lambda: pa.make_ir(lambda x: pa.quantile(x, 1.5))(np.ones(2)), "quantile: quantiles lie between 0 and 1"),
    (pa.ShapeError, lambda: pa.var(np.ones(2), ddof=1, correction=1), "var: ddof and correction mean the same"),
    (pa.DTypeError, lambda: pa.bincount(np.ones(2)), "bincount: .* is not a vector of integers"),
    (pa.ShapeError, lambda: pa.bincount(np.array([1, -1])), "bincount"),
    (pa.ShapeError, lambda: pa.bincount(np.array([1, 1]), weights=np.ones(3)), "bincount"),
    (pa.ConcreteValueError, lambda: pa.make_ir(pa.bincount)(np.array([1])), "bincount: .* give size="),
    (pa.ShapeError, lambda: pa.histogram(np.ones(2), 0), "histogram: the number of bins must be at least 1"),
    (pa.DTypeError, lambda: pa.histogram(np.ones(2), "auto"), "histogram: bins='auto' is not offered"),
    (pa.ShapeError, lambda: pa.histogram(np.ones(2), 2, weights=np.ones(3)), "histogram: 3 weights for 2 elements"),
])  # fmt: skip
def test_refusals(error, call, text):
    with pytest.raises(error, match=text):
        call()


def test_methods():
    x = np.array([1.0, 4.0, 2.0])
    for name in ("std", "var", "cumsum", "cumprod"):
        np.testing.assert_allclose(pa.jvp(lambda x, n=name: getattr(x, n)(), (x,), (x,))[0], getattr(x, name)())
    np.testing.assert_array_equal(pa.grad(lambda x: x.ptp())(x), [-1.0, 1.0, 0.0])
    assert pa.vmap(lambda x: x.std(axis=0, ddof=1))(x[None, :]).shape == (1,)


def test_numbers():
    for f in (pa.median, pa.mean, lambda x: pa.quantile(x, 0.3), pa.nanmedian):
        assert f(np.float64(3.0)) == 3.0
        assert pa.grad(f)(3.0) == 1.0
    assert pa.grad(pa.std)(3.0) == 0.0
