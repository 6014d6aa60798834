"""Functions known at points: slopes by their spacing, interpolation, and the trapezoidal rule, against NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.testing import check_rule


def test_gradient_by_its_spacing(rng):
    x = rng.standard_normal((4, 5))
    places = np.cumsum(rng.uniform(0.5, 1.5, 5))
    for order in (1, 2):
        for args, params in (((), {}), ((2.0,), {}), ((2.0, places), {}), ((places,), {"axis": 1}), ((3.0,), {"axis": (1, 0)})):
            expected = np.gradient(x, *args, edge_order=order, **params)
            found = pa.gradient(x, *args, edge_order=order, **params)
            followed = pa.jvp(lambda x, a=args, p=params: np.gradient(x, *a, edge_order=order, **p), (x,), (x,))[1]
            for a, b, c in zip(*[pa.tree.leaves(y) for y in (expected, found, followed)], strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12)
                np.testing.assert_allclose(c, a, rtol=1e-12)
    pa.check_grads(lambda x, h: pa.gradient(x, h, axis=1, edge_order=2), (x, places), order=2)
    pa.check_grads(lambda h: np.gradient(x, h)[0], (0.5,), order=2)


@settings(max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=5, unique=True).map(sorted), st.data())
def test_interpolation(knots, data):
    xp = np.array(knots, float)
    fp = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=len(knots), max_size=len(knots))), float)
    x = np.array(data.draw(st.lists(st.floats(-6, 6) | st.sampled_from(knots), max_size=5)), float)
    ends = data.draw(st.sampled_from([{}, {"left": -7.0}, {"left": 1.5, "right": 2.5}, {"period": 3.5}]))
    expected = np.interp(x, xp, fp, **ends)
    np.testing.assert_array_equal(pa.interp(x, xp, fp, **ends), expected)
    followed = pa.jvp(lambda x, fp: np.interp(x, xp, fp, **ends), (x, fp), (0 * x, fp))
    np.testing.assert_allclose(followed[0], expected, atol=1e-14)
    if not ends:
        np.testing.assert_allclose(followed[1], expected, atol=1e-14)  # linear in fp
    np.testing.assert_allclose(pa.vmap(lambda x: np.interp(x, xp, fp, **ends))(x), expected, atol=1e-14)


def test_slope_of_interpolation_at_knots_and_beyond():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0])
    slope = pa.vmap(pa.derivative(lambda x: pa.interp(x, xp, fp)))
    found = slope(np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.inf, -np.inf]))
    np.testing.assert_array_equal(found, [0.0, 2.0, 2.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0])


def test_interpolation_where_something_is_not_finite():
    x, xp, fp = np.array([np.inf, -np.inf, 0.5]), np.arange(3.0), np.array([1.0, 3.0, 2.0])
    cts = pa.vjp(pa.interp, x, xp, fp)[1](np.ones(3))
    np.testing.assert_array_equal(cts[0], [0.0, 0.0, 2.0])
    np.testing.assert_array_equal(cts[1], [-1.0, -1.0, 0.0])
    np.testing.assert_array_equal(cts[2], [1.5, 0.5, 1.0])
    assert np.isnan(pa.interp(np.nan, xp, fp)) and np.isnan(pa.jvp(lambda x: pa.interp(x, xp, fp), (np.nan,), (1.0,))[0])
    steps = np.array([0.0, 1.0, 1.0, 2.0])  # a jump
    assert pa.interp(1.0, steps, np.arange(4.0)) == np.interp(1.0, steps, np.arange(4.0))
    assert all(np.isfinite(c).all() for c in pa.vjp(pa.interp, np.array([0.5, 1.0]), steps, np.arange(4.0))[1](np.ones(2)))


def test_interpolation_in_double_precision():
    x, xp, fp = (np.arange(3, dtype=np.float32),) * 3
    assert pa.interp(x, xp, fp).dtype == np.interp(x, xp, fp).dtype == np.float64
    assert pa.grad(lambda x: pa.sum(pa.interp(x, xp, fp)))(x).dtype == np.float32


def test_trapezoid(rng):
    y, x = rng.standard_normal((3, 4)), np.cumsum(rng.uniform(0.5, 1.5, 4))
    for params in ({}, {"dx": 0.5}, {"x": x}, {"axis": 0}, {"x": y, "axis": 1}, {"x": x[:3], "axis": 0}):
        np.testing.assert_allclose(pa.trapezoid(y, **params), np.trapezoid(y, **params))
        np.testing.assert_allclose(pa.jvp(lambda y, p=params: np.trapezoid(y, **p), (y,), (y,))[1], np.trapezoid(y, **params))
    pa.check_grads(lambda y, x: pa.trapezoid(y, x), (y, x), order=2)
    check_rule(pa.trapezoid, y, x=x)
