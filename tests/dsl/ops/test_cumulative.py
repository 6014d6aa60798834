"""Cumulative sums and products, differences: against NumPy, and where they are singular."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

numbers = nps.arrays(np.float64, nps.array_shapes(max_dims=3, min_side=0, max_side=4), elements=st.integers(-3, 3))


def product_gradient(x, ct):
    """Of sum(ct * cumprod(x)), by the definition."""
    n = len(x)
    return np.array([sum(ct[k] * np.prod(np.delete(x[: k + 1], i)) for k in range(i, n)) for i in range(n)])


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.randoms())
def test_cumulative_product_with_zeros(values, random):
    x, ct = np.array(values, float), np.array([random.randint(-3, 3) for _ in values], float)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.cumprod(x) * ct))(x), product_gradient(x, ct))
    np.testing.assert_allclose(pa.jvp(pa.cumprod, (x,), (ct,))[1], pa.jacrev(np.cumprod)(x) @ ct)


def test_cumulative_product_of_public_reports():
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.cumprod(x) ** 2))(np.array([1.0, 0.0])), [2.0, 0.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.cumprod(x)))(np.array([2.0, 0.0, 3.0])), [1.0, 8.0, 0.0])
    hessian = pa.hessian(lambda x: pa.cumprod(x)[-1])(np.array([2.0, 0.0, 0.0]))
    np.testing.assert_array_equal(hessian, [[0, 0, 0], [0, 0, 2], [0, 2, 0]])


@settings(max_examples=30)
@given(numbers, st.data())
def test_cumulation(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        np.testing.assert_array_equal(getattr(pa, name)(x, axis=axis), getattr(np, name)(x, axis=axis))
        followed = pa.jvp(lambda x, name=name: getattr(np, name)(x, axis=axis), (x,), (x,))[0]
        np.testing.assert_array_equal(followed, getattr(np, name)(x, axis=axis))
    for name in ("cumulative_sum", "cumulative_prod"):
        axis = axis if axis is not None or x.ndim == 1 else 0
        for initial in (False, True):
            found = getattr(pa, name)(x, axis=axis, include_initial=initial)
            np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis, include_initial=initial))


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.uint16, np.float32, np.complex64])
def test_dtypes(dtype):
    x = np.array([1, 0, 1], dtype)
    for name in ("cumsum", "cumprod", "cumulative_sum", "diff", "gradient", "trapezoid"):
        if name in ("gradient", "trapezoid") and dtype in (np.bool_, np.uint16, np.int8):
            continue  # NumPy's differences of small integers run over
        expected = getattr(np, name)(x)
        found = getattr(pa, name)(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert pa.make_ir(getattr(pa, name))(x).outputs[0].aval.dtype == expected.dtype
    assert pa.cumsum(x, dtype=np.complex128).dtype == np.complex128


def test_number_is_flattened():
    np.testing.assert_array_equal(pa.cumsum(np.float64(2.0)), [2.0])
    np.testing.assert_array_equal(pa.vmap(pa.cumprod)(np.array([2.0, 3.0])), [[2.0], [3.0]])


def test_gaps_have_no_derivative():
    x = np.array([1.0, np.nan, 3.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.nancumsum(x)))(x), [3.0, 0.0, 1.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.nancumprod(x)))(x), [5.0, 0.0, 1.0])


# ---------------------------------------------------------------------- differences
@settings(max_examples=30)
@given(numbers, st.data())
def test_differences(x, data):
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 3))
    np.testing.assert_array_equal(pa.diff(x, n=n, axis=axis), np.diff(x, n=n, axis=axis))
    found, expected = (f(x, n=n, axis=axis, prepend=1.0, append=x) for f in (pa.diff, np.diff))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pa.ediff1d(x, to_end=[1.0, 2.0], to_begin=3), np.ediff1d(x, to_end=[1.0, 2.0], to_begin=3))
    np.testing.assert_array_equal(pa.jvp(np.ediff1d, (x,), (x,))[1], np.ediff1d(x))


def test_followed_ends():
    assert pa.grad(lambda v: pa.sum(np.diff(np.ones(3), prepend=v) ** 2))(3.0) == 4.0
    assert pa.grad(lambda v: pa.sum(pa.ediff1d(np.ones(2), to_end=v)))(3.0) == 1.0


@pytest.mark.parametrize(("call", "text"), [
    (lambda: pa.diff(np.ones(2), n=-1), "diff: n must not be negative"),
    (lambda: pa.diff(1.0), "diff: axis -1 is out of range"),
    (lambda: pa.diff(np.ones(2), prepend=np.ones((1, 1))), r"diff: ndarray\(float64\[1, 1\]\) cannot be joined to"),
    (lambda: pa.cumsum(np.ones(2), axis=1), "cumsum.*axis 1 is out of bounds"),
    (lambda: pa.cumulative_sum(np.ones((2, 2))), r"cumulative_sum: .* has 2 axes; name the axis"),
    (lambda: pa.gradient(np.ones(1)), "gradient: axis 0 of .* has fewer than 2 samples"),
    (lambda: pa.gradient(np.ones((2, 2)), 1.0, 1.0, 1.0), "gradient: 3 spacings for 2 axes"),
    (lambda: pa.gradient(np.ones(3), np.ones(2)), "gradient: spacing .* give a number or 3 places"),
    (lambda: pa.interp(1.0, np.ones((2, 2)), np.ones((2, 2))), "interp"),
    (lambda: pa.jvp(lambda x: pa.interp(x, np.ones(2), np.ones(3)), (1.0,), (1.0,)), "interp: xp is .* both are vectors"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(pa.ShapeError, match=text):
        call()


# ---------------------------------------------------------------------- ufunc.accumulate and reduce
folded = (np.maximum, np.minimum, np.fmax, np.logaddexp, np.logaddexp2, np.hypot, np.subtract, np.divide, np.add, np.multiply)


@pytest.mark.parametrize("ufunc", folded)
@pytest.mark.parametrize("how", ["accumulate", "reduce"])
def test_accumulate_is_one_step(ufunc, how):
    """A loop of the program, of any length: not one step for each element."""
    f = lambda x: getattr(ufunc, how)(x)
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 300):
        x = 1.5 + rng.random(n)
        np.testing.assert_allclose(pa.jit(f)(x), f(x), rtol=1e-13)
    assert len(pa.make_ir(f)(np.ones(300)).equations) < 10
    x = 1.5 + rng.random((3, 4))
    for axis in (0, 1, -1):
        np.testing.assert_allclose(pa.vmap(lambda x, axis=axis: getattr(ufunc, how)(x, axis))(np.stack([x, x + 1])),
                                   np.stack([getattr(ufunc, how)(x, axis), getattr(ufunc, how)(x + 1, axis)]))  # fmt: skip
    w = rng.standard_normal((3, 4) if how == "accumulate" else 3)
    g = lambda x: np.sum(getattr(ufunc, how)(x, 1) * w)
    for slope in (pa.grad(g)(x), pa.jit(pa.grad(g))(x)):
        for i in np.ndindex(3, 4):
            e = np.zeros((3, 4))
            e[i] = 1e-6
            assert abs(slope[i] - (g(x + e) - g(x - e)) / 2e-6) < 1e-7


def test_accumulate_shares_ties_and_keeps_dtypes():
    w, f = np.array([1.0, 10.0, 100.0]), lambda x: np.maximum.accumulate(x)
    for x in (np.array([1.0, 1.0, 1.0]), np.array([2.0, 1.0, 2.0])):
        steps = lambda x: np.sum(np.stack([x[0], a := np.maximum(x[0], x[1]), np.maximum(a, x[2])]) * w)
        np.testing.assert_array_equal(pa.jit(pa.grad(lambda x: np.sum(f(x) * w)))(x), pa.grad(steps)(x))
    for ufunc, x in (
        (np.bitwise_or, np.array([1, 2, 4])),
        (np.logical_xor, np.array([1.0, 1.0, 0.0])),
        (np.gcd, np.array([12, 18, 4])),
    ):
        for how in ("accumulate", "reduce"):
            want = getattr(ufunc, how)(x)
            got = pa.jit(lambda x, ufunc=ufunc, how=how: getattr(ufunc, how)(x))(x)
            assert got.dtype == want.dtype and np.array_equal(got, want)
