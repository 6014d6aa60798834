"""Statistics of what is a number: NumPy's values, no derivative through gaps, nothing but gaps."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

numbers = nps.arrays(np.float64, nps.array_shapes(max_dims=3, min_side=1, max_side=4), elements=st.integers(-5, 5))


def gappy(x, rng):
    return np.where(rng.integers(0, 3, x.shape) == 0, np.nan, x)


def choose_axis(data, x):
    return data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim), tuple(range(x.ndim))]))


def check(name, x, *args, **params):
    """Plain, NumPy's under a derivative, in lanes and in a program."""
    expected = getattr(np, name)(x, *args, **params)
    f = lambda x: getattr(np, name)(x, *args, **params)
    lanes = np.stack([x, x])
    for found in (getattr(pa, name)(x, *args, **params), pa.jvp(f, (x,), (x,))[0], pa.make_ir(f)(x)(x), pa.vmap(f)(lanes)[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


@settings(max_examples=40)
@given(numbers, st.data())
def test_reductions_of_what_is_a_number(x, data):
    axis, keepdims = choose_axis(data, x), data.draw(st.booleans())
    x = gappy(x, np.random.default_rng(x.size))
    names = ["nansum", "nanprod"]
    if np.isfinite(x).any(axis=axis).all():
        names += ["nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian"]
    for name in names:
        check(name, x, axis=axis, keepdims=keepdims)


def test_gaps_have_no_derivative():
    x = np.array([1.0, np.nan, 3.0])
    slopes = {"nansum": [1, 0, 1], "nanmean": [0.5, 0, 0.5], "nanprod": [3, 0, 1], "nanmax": [0, 0, 1], "nanmin": [1, 0, 0],
              "nanvar": [-1, 0, 1], "nanstd": [-0.5, 0, 0.5], "nanmedian": [0.5, 0, 0.5]}  # fmt: skip
    for name, slope in slopes.items():
        np.testing.assert_allclose(pa.grad(getattr(pa, name))(x), slope)
        np.testing.assert_allclose(pa.vmap(pa.grad(getattr(np, name)))(x[None])[0], slope)


def test_nothing_is_a_number():
    x = np.full(3, np.nan)
    with np.errstate(all="ignore"):
        for name in ("nanmean", "nanvar", "nanstd"):
            assert np.isnan(getattr(pa, name)(x))
        for name in ("nanmax", "nanmin", "nanmedian"):
            assert np.isnan(pa.make_ir(getattr(pa, name))(x)(x))
    assert pa.nansum(x) == 0.0 and pa.nanprod(x) == 1.0
