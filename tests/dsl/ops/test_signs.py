"""Signs, neighbours, rounding: what their cards' samples cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import polyad as pa

floats = hnp.arrays(np.float64, hnp.array_shapes(min_side=0), elements=st.floats(-1e6, 1e6))


def test_signs_of_zeros_and_nan():
    x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(pa.signbit(x), np.signbit(x))
    np.testing.assert_array_equal(np.signbit(pa.copysign(2.0, x)), np.signbit(x))
    assert pa.signbit(np.float32(-1)).dtype == bool and pa.copysign(np.float32(1), -2.0).dtype == np.float32


@pytest.mark.parametrize(("x", "y", "slope"), [(3.0, 2.0, 1), (3.0, -2.0, -1), (-3.0, 2.0, -1), (-3.0, -0.0, 1)])
def test_copysign_reflects(x, y, slope):
    assert pa.grad(pa.copysign)(x, y) == slope == pa.jvp(lambda x: pa.copysign(x, y), (x,), (1.0,))[1]
    assert pa.grad(lambda y: pa.copysign(x, y))(y) == 0.0
    assert pa.grad(lambda x: np.copysign(x, y) * 2)(x) == 2 * slope


def test_nextafter():
    x = np.array([1.0, 0.0, -1.0, np.inf])
    np.testing.assert_array_equal(pa.nextafter(x, 0.0), np.nextafter(x, 0.0))
    assert pa.nextafter(np.float32(1), np.float32(2)) - np.float32(1) == pa.finfo(np.float32).eps
    assert pa.grad(lambda x: pa.sum(pa.nextafter(x, 9.0) ** 2))(np.array([3.0]))[0] == pytest.approx(6.0)


@given(floats, st.integers(-3, 5))
def test_round_is_numpys(x, decimals):
    expected = np.round(x, decimals)
    for found in (pa.round(x, decimals), pa.round(x, decimals=decimals), pa.vmap(lambda u: np.round(u, decimals))(x[None])[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_round_keeps_dtypes_and_has_no_slope():
    for dtype in (pa.int8, pa.uint64, pa.float32, pa.complex64):
        x = pa.astype(np.array([15, 25, 36]), dtype)
        assert pa.round(x).dtype == pa.round(x, 1).dtype == pa.round(x, -1).dtype == dtype
        np.testing.assert_array_equal(pa.round(x, -1), [20, 20, 40])
        np.testing.assert_array_equal(pa.round(x), x)
    assert pa.round(True) == True  # noqa: E712
    assert pa.grad(lambda x: pa.round(x, 1) + round(x, 2) + round(x) + x.round(decimals=3))(2.345) == 0.0
    np.testing.assert_array_equal(pa.round(np.array([0.5, 1.5, -0.5, 2.5])), [0.0, 2.0, -0.0, 2.0])
