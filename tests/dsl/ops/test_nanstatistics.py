"""Statistics of what is a number: NumPy's values, no derivative through gaps, nothing but gaps."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_samples import check, choose_axis, gappy, numbers

import polyad as pa


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
