"""Elements and blocks that are appended, deleted and inserted, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from like_numpy import check, int_arrays, same

import polyad as pa

pytestmark = pytest.mark.quick


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
