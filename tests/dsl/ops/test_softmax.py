"""Functions of rows at infinities, with weights and masks, against SciPy and finite differences."""

import warnings

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import polyad as pa

inf = np.inf
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=4), elements=st.floats(-800, 800))


@given(tables, st.sampled_from([0, 1, None, (0, 1)]))
def test_as_scipy(x, axis):
    np.testing.assert_allclose(pa.logsumexp(x, axis=axis), scipy.special.logsumexp(x, axis=axis), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(pa.softmax(x, axis=axis), scipy.special.softmax(x, axis=axis), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(pa.log_softmax(x, axis=axis), scipy.special.log_softmax(x, axis=axis), rtol=1e-12, atol=1e-12)
    g = pa.grad(lambda x: pa.sum(pa.logsumexp(x, axis=axis)))(x)
    np.testing.assert_allclose(g, scipy.special.softmax(x, axis=axis), rtol=1e-12, atol=1e-300)


# ---------------------------------------------------------------------- infinities
def test_logsumexp_of_nothing_but_minus_infinity():
    f = lambda x: pa.logsumexp(pa.stack([pa.asarray(-inf), -inf + x]))
    assert f(1.0) == -inf
    assert pa.grad(f)(1.0) == 0 and pa.jvp(f, (1.0,), (1.0,))[1] == 0
    assert pa.grad(pa.grad(f))(1.0) == 0


@pytest.mark.parametrize(
    ("x", "value", "slopes"),
    [
        ([-inf, 0.0, 0.0], np.log(2.0), [0, 0.5, 0.5]), ([-inf, -inf], -inf, [0, 0]), ([inf, 0.0], inf, [1, 0]),
        ([inf, -inf], inf, [1, 0]), ([inf, inf], inf, [0.5, 0.5]), ([inf], inf, [1]),
        ([1.0, inf, -inf, inf], inf, [0, 0.5, 0, 0.5]),
    ],
)  # fmt: skip
def test_logsumexp_of_infinities(x, value, slopes):
    x = np.array(x)
    assert pa.logsumexp(x) == value
    for mode in (pa.jacrev, pa.jacfwd):
        np.testing.assert_allclose(mode(pa.logsumexp)(x), slopes)
    assert np.all(np.isfinite(pa.hessian(pa.logsumexp)(x)))
    np.testing.assert_array_equal(pa.logsumexp(np.stack([x, 0 * np.ones(len(x))]), axis=1)[0], value)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("x", [[0.0, inf], [inf, 2.0, inf, -inf], [-inf, inf], [6e4, inf, 1.0], [-inf, -inf], [-inf, 3.0]])
def test_rows_with_infinities(x, dtype):
    """softmax is the slope of logsumexp, and its logarithm is log_softmax; in every mode, in lanes and in programs."""
    x = np.array(x, dtype)
    shares = np.where(x == x.max(), 1, 0) / np.sum(x == x.max()) if x.max() > -inf else np.zeros(len(x))
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    weights = np.arange(1.0, 1 + len(x)).astype(dtype)
    with np.errstate(all="raise", under="ignore", over="ignore"):
        for f, expected in ((pa.softmax, shares), (pa.log_softmax, logs)):
            np.testing.assert_allclose(f(x), expected, rtol=1e-3)
            np.testing.assert_allclose(pa.jit(f)(x), expected, rtol=1e-3)
            assert f(x).dtype == dtype
        assert pa.logsumexp(x) == x.max()
        both = pa.logaddexp(x[0], x[1])
        for mode in (pa.jacrev, pa.jacfwd, lambda f: pa.jit(pa.grad(f)), lambda f: lambda x: pa.vmap(pa.grad(f))(x[None])[0]):
            np.testing.assert_allclose(mode(pa.logsumexp)(x), shares, rtol=1e-3)
            weighted = mode(lambda x: pa.sum(pa.softmax(x) * weights))(x)
            np.testing.assert_allclose(weighted, shares * (weights - shares @ weights), rtol=1e-3)
            if x.max() == inf:
                picked = mode(lambda x: pa.log_softmax(x)[0])(x)
                np.testing.assert_allclose(picked, np.eye(len(x))[0] - shares, rtol=1e-3)
            if len(x) == 2 and both > -inf:
                np.testing.assert_allclose(mode(lambda x: pa.logaddexp(x[0], x[1]))(x), shares)
        for f in (pa.logsumexp, lambda x: pa.sum(pa.softmax(x) * weights), lambda x: pa.logaddexp(x[0], x[1])):
            assert np.all(np.isfinite(pa.hessian(f)(x)))


def test_weights_beside_infinities():
    x, b = np.array([inf, 0.0, inf]), np.array([1.0, 5.0, 3.0])
    np.testing.assert_allclose(pa.grad(lambda x: pa.logsumexp(x, b=b))(x), [0.25, 0, 0.75])
    assert pa.logsumexp(x, b=b) == inf


@pytest.mark.parametrize("f", [pa.logaddexp, pa.logaddexp2])
def test_both_infinite(f):
    for a, b, slopes in ((inf, inf, (0.5, 0.5)), (inf, 0.0, (1, 0)), (-inf, inf, (0, 1)), (-inf, -inf, (0, 0))):
        for mode in (pa.jacrev, pa.jacfwd):
            assert mode(f, (0, 1))(a, b) == slopes
    assert pa.grad(lambda x: f(x, 0.0))(inf) == 1


def test_nan_is_not_hidden():
    assert np.isnan(pa.logsumexp(np.array([np.nan, -inf]))) and np.isnan(pa.softmax(np.array([np.nan, 0.0]))).all()


def test_masked_rows_of_softmax():
    x = np.array([[-inf, 1.0, 1.0], [-inf, -inf, -inf]])
    np.testing.assert_array_equal(pa.softmax(x), [[0, 0.5, 0.5], [0, 0, 0]])
    np.testing.assert_allclose(pa.log_softmax(x), [[-inf, -np.log(2), -np.log(2)], [-inf] * 3])
    weights = np.arange(6.0).reshape(2, 3)
    g = pa.grad(lambda x: pa.sum(pa.softmax(x) * weights))(x)
    np.testing.assert_allclose(g, [[0, -0.25, 0.25], [0, 0, 0]])
    picked = pa.grad(lambda x: pa.log_softmax(x)[0, 1])(x)
    np.testing.assert_allclose(picked, [[0, 0.5, -0.5], [0, 0, 0]])
    assert np.all(np.isfinite(pa.hessian(lambda x: pa.sum(pa.softmax(x) * weights))(x)))


def test_precision_where_softmax_is_tiny():
    x = np.array([0.0, -800.0])
    assert pa.log_softmax(x)[1] == -800 and pa.grad(lambda x: pa.log_softmax(x)[1])(x)[1] == 1


# ---------------------------------------------------------------------- weights
def test_weights():
    rng = np.random.default_rng(0)
    x, b = rng.standard_normal((2, 3)), rng.standard_normal(3)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(pa.logsumexp(x, axis=1, b=abs(b)), scipy.special.logsumexp(x, axis=1, b=abs(b)))
    pa.check_grads(lambda x, b: pa.logsumexp(x, axis=1, b=b), (x, abs(b)), order=2)


def test_elements_of_weight_zero_do_not_count():
    x, b = np.array([inf, 900.0, 1.0]), np.array([0.0, 0.0, 2.0])
    assert pa.logsumexp(x, b=b) == 1 + np.log(2.0)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.logsumexp(x, b=b))(x), [0, 0, 1])
    by_weight = pa.grad(lambda b: pa.logsumexp(np.array([0.5, 1.0]), b=b))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(by_weight, np.exp(np.array([0.5, 1.0]) - 1 - np.log(2)))
    assert pa.logsumexp(np.zeros(2), b=np.zeros(2)) == -inf


def test_weights_broadcast_under_vmap():
    x, b = np.arange(3.0), np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    found = pa.vmap(lambda b: pa.logsumexp(x, b=b))(b)
    np.testing.assert_allclose(found, scipy.special.logsumexp(np.stack([x, x]), axis=1, b=b))
    np.testing.assert_allclose(pa.logsumexp(x, axis=1, b=b), found)


# ---------------------------------------------------------------------- shapes, dtypes
def test_empty_scalar_float32_integers():
    assert pa.logsumexp(np.ones((0, 2))) == -inf and pa.logsumexp(np.ones((0, 2)), axis=0).shape == (2,)
    assert pa.logsumexp(np.ones((0, 2)), axis=1, keepdims=True).shape == (0, 1)
    assert pa.logsumexp(2.0) == 2 and pa.logsumexp(np.arange(3)).dtype == np.float64
    for f in (pa.logsumexp, pa.softmax, pa.log_softmax, pa.standardize):
        assert f(np.ones((2, 3), np.float32)).dtype == np.float32
        assert f(np.ones((2, 3))[:, ::2]).shape in ((), (2, 2))
    assert pa.grad(lambda x: pa.logsumexp(x))(np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [bool, int, np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), [((3, 0), -1), ((0, 3), -1), ((0, 3), 0), ((0,), None), ((2, 0, 3), (0, 1))])
def test_rows_without_elements(shape, axis, dtype):
    """The result is empty too, or that of a sum of nothing, without warnings."""
    x = np.zeros(shape, dtype)
    for f in (pa.softmax, pa.log_softmax, pa.standardize):
        g = lambda x, f=f: f(x, axis=axis)
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            for found in (g(x), pa.jit(g)(x), pa.vmap(g)(x[None])[0]):
                assert found.shape == shape and found.dtype == (dtype if np.dtype(dtype).kind == "f" else np.float64)
            if np.dtype(dtype).kind == "f":
                assert pa.grad(lambda x: pa.sum(g(x)))(x).shape == shape == pa.jvp(g, (x,), (x,))[1].shape
    summed = pa.logsumexp(x, axis=axis)
    np.testing.assert_array_equal(summed, np.full(np.sum(x, axis=axis).shape, -inf))


def test_standardize():
    x = np.random.default_rng(0).standard_normal((4, 50)) * 3 + 2
    y = pa.standardize(x, eps=0.0)
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-14)
    np.testing.assert_allclose(y.std(-1), 1)
    assert np.all(pa.standardize(np.ones(3)) == 0) and np.all(np.isfinite(pa.jacobian(pa.standardize)(np.ones(3))))


@pytest.mark.parametrize("f", [pa.logsumexp, pa.softmax, pa.log_softmax, pa.standardize])
def test_axes_out_of_range_are_named(f):
    with pytest.raises(pa.ShapeError, match="axis 2"):
        f(np.ones((2, 3)), axis=2)
