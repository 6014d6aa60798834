"""Quantiles by each of NumPy's methods, and where their derivatives go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_samples import check, choose_axis, gappy, numbers

import polyad as pa
from polyad.dsl.ops.order_statistics import QUANTILE_METHODS
from polyad.testing import check_rule


@settings(max_examples=60)
@given(numbers, st.data(), st.sampled_from(list(QUANTILE_METHODS)))
def test_quantiles(x, data, method):
    axis, keepdims = choose_axis(data, x), data.draw(st.booleans())
    fraction = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
    for q in (data.draw(fraction), np.array(data.draw(st.lists(fraction, min_size=1, max_size=3)))):
        check("quantile", x, q, axis=axis, method=method, keepdims=keepdims)
        gaps = gappy(x, np.random.default_rng(x.size))
        if np.isfinite(gaps).any(axis=axis).all():
            check("nanquantile", gaps, q, axis=axis, method=method, keepdims=keepdims)
    check("percentile", x, 100 * data.draw(fraction), axis=axis, method=method)


@pytest.mark.parametrize("method", QUANTILE_METHODS)
def test_derivative_goes_to_the_elements_taken(method, rng):
    x, q = rng.permutation(7) * 1.3, np.array([0.17, 0.52, 0.86])
    check_rule(pa.quantile, x, 0.37, method=method)
    slopes = pa.jacobian(lambda x: np.quantile(x, q, method=method))(x)
    np.testing.assert_allclose(slopes.sum(axis=1), 1.0)
    np.testing.assert_allclose(slopes @ x, np.quantile(x, q, method=method))


def test_derivative_by_the_fraction():
    x = np.array([1.0, 4.0, 2.0])
    assert pa.grad(lambda q: pa.quantile(x, q))(0.3) == 2.0
    assert pa.grad(lambda q: pa.quantile(x, q, method="lower"))(0.3) == 0.0
    np.testing.assert_allclose(pa.vmap(pa.derivative(lambda q: np.percentile(x, q)))(np.array([10.0, 80.0])), [0.02, 0.04])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.median(x))(np.array([3.0, 1.0, 2.0, 2.0])), [0.0, 0.0, 0.5, 0.5])


def test_not_numbers_and_infinities():
    x = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]])
    for name, args in (("median", ()), ("quantile", (0.3,)), ("percentile", (40.0,))):
        check(name, x, *args, axis=1)
        check(name, x, *args)
    infinite = np.array([np.inf, 1.0, np.inf, np.inf])
    check("median", infinite)
    np.testing.assert_array_equal(pa.grad(pa.median)(infinite), [0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(pa.grad(pa.nanmedian)(np.array([np.nan, 1.0, 5.0])), [0.0, 0.5, 0.5])


def test_dtypes_of_quantiles():
    x = np.arange(5, dtype=np.float32)
    for q in (0.3, np.float32(0.3), np.float64(0.3), np.array([0.3])):
        for values in (x, x.astype(int)):
            for method in ("linear", "lower"):
                expected = np.quantile(values, q, method=method)
                f = lambda v, q=q, m=method: pa.quantile(v, q, method=m)
                assert f(values).dtype == pa.make_ir(f)(values).outputs[0].aval.dtype == expected.dtype, (q, method)


def test_unknown_method():
    with pytest.raises(pa.DTypeError, match="nanquantile: method 'best' is not one of linear, lower"):
        pa.make_ir(lambda x: pa.nanquantile(x, 0.5, method="best"))(np.ones(3))
