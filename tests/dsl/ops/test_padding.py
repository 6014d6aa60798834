"""Padding in each mode, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from like_numpy import check, int_arrays, same

import polyad as pa

pytestmark = pytest.mark.quick


@settings(max_examples=30)
@given(int_arrays.filter(lambda x: x.size), st.data())
def test_padding(x, data):
    width = st.integers(0, 5)
    pairs = st.lists(st.tuples(width, width), min_size=x.ndim, max_size=x.ndim).map(tuple)
    widths = data.draw(width | st.tuples(width, width) | pairs)
    for mode in ("edge", "wrap", "reflect", "symmetric"):
        check("pad", x, widths, mode=mode)
    check("pad", x, widths)
    same(pa.pad(x, widths, constant_values=3), np.pad(x, widths, constant_values=3))
    same(pa.pad(x, widths, constant_values=(1, 2)), np.pad(x, widths, constant_values=(1, 2)))


def test_padding_with_a_followed_number():
    assert pa.grad(lambda v: pa.sum(pa.pad(np.ones((2, 2)), 1, constant_values=v)))(3.0) == 12.0


def test_unknown_padding():
    with pytest.raises(pa.DTypeError, match="pad: mode 'mean' is not offered; modes are 'constant', 'edge'"):
        pa.pad(np.ones(2), 1, mode="mean")
