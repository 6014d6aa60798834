"""Half precision in C: each of its numbers, and those between two of them, are rounded as NumPy rounds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import polyad as pa

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pa.elementwise(differentiable=False, c={"iu": "{0} + 1", "f": "{0} + 1"})
def after(x, /):
    """The next number, of the same dtype."""


@pa.elementwise(differentiable=False, c={"f": "{0} * {1}"})
def scaled(x, y, /):
    """A product."""


EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_half_precision_is_rounded_as_numpy_rounds(data):
    x = data.draw(arrays.arrays(np.float16, (5,), elements=st.floats(width=16)))
    y = after(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, x + np.float16(1), strict=True)


def test_all_halves():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(after(x), (x.astype("f4") + 1).astype("f2"), strict=True)


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.5, 2.0**-11, 1.5, 1.0009765625, 0.333, 2.0**-24, 65504.0, 1e-3])
def test_products_of_all_halves(factor):
    """Which single precision holds: halfway between two halves to the even one, below the normal ones, out of range, zeros."""
    y = np.float16(factor)
    found, wanted = scaled(EVERY, y), (EVERY.astype("f4") * np.float32(y)).astype("f2")
    np.testing.assert_array_equal(found, wanted, strict=True)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))
