"""Padding in each mode, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

pytestmark = pytest.mark.quick

shapes = nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
int_arrays = nps.arrays(np.int64, shapes, elements=st.integers(-9, 9))


def same(found, expected):
    """Equal types of elements, shapes and elements."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)


def check(name, x, *args, **params):
    """polyad's function gives what NumPy's gives, plain, followed by a derivative, and traced; and NumPy's is ours there."""
    ours, theirs = getattr(pa, name), getattr(np, name)
    expected = theirs(x, *args, **params)
    same(ours(x, *args, **params), expected)
    same(pa.make_ir(lambda x: ours(x, *args, **params))(x)(x), expected)
    values = x.astype(float)
    for f in (ours, theirs):
        leaves = lambda v, f=f: pa.tree.leaves(f(v, *args, **params))
        same(pa.jvp(leaves, (values,), (values,))[1], pa.tree.leaves(theirs(values, *args, **params)))  # all are linear
        same([part[0] for part in pa.vmap(leaves)(values[None])], leaves(values))


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
