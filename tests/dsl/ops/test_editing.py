"""Elements and blocks that are appended, deleted and inserted, against NumPy."""

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
@given(int_arrays, st.data())
def test_editing(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    n = x.size if axis is None else x.shape[axis]
    same(pa.append(x, x, axis=axis), np.append(x, x, axis=axis))
    some = data.draw(st.lists(st.integers(-n, n - 1), max_size=3)) if n else []
    for obj in (some, slice(0, None, 2), *some):
        check("delete", x, obj, axis=axis)
    check("delete", x, np.arange(n) % 2 == 0, axis=axis)
    places = data.draw(st.lists(st.integers(-n, n), min_size=1, max_size=3))
    for obj in (places[0], np.array(places)):
        same(pa.insert(x, obj, 7, axis=axis), np.insert(x, obj, 7, axis=axis))
        found = pa.jvp(lambda x, v, obj=obj: np.insert(x, obj, v, axis=axis), (x * 1.0, 7.0), (x * 1.0, 7.0))[1]
        same(found, np.insert(x * 1.0, obj, 7.0, axis=axis))


def test_inserted_blocks(rng):
    x = rng.standard_normal((3, 4))
    for obj, values, axis in ((1, rng.standard_normal(4), 0), (1, rng.standard_normal(3), 1), (np.array([1]), x[:, :2], 1),
                              (np.array([0, 2]), rng.standard_normal((2, 4)), 0), (np.array([0, 2]), x[:, :1], 1)):  # fmt: skip
        same(pa.insert(x, obj, values, axis=axis), np.insert(x, obj, values, axis=axis))
    mask = np.array([True, False, True])  # which NumPy once took for integers
    same(pa.insert(x, mask, 1.0, axis=0), np.insert(x, np.flatnonzero(mask), 1.0, axis=0))
