"""Sorting in both directions: stable, against Python's `sorted` one row at a time."""

import numpy as np
import pytest

from polyad.devices.order import order_kernels

kernels = order_kernels(np)
rng = np.random.default_rng(5)
ARRAYS = {
    "ties": rng.integers(0, 4, (5, 6, 7)), "floats": rng.standard_normal((3, 4)), "one": np.ones(1), "none": np.ones((2, 0)),
    "unsigned": rng.integers(0, 3, 20).astype(np.uint8), "truths": rng.random((4, 9)) < 0.5,
    "half": np.float16([1, -0.0, 0.0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("descending", [False, True])
def test_each_row(name, descending):
    x = ARRAYS[name]
    for axis in (*range(-x.ndim, x.ndim), None):
        places = kernels["argsort"](x, axis=axis, descending=descending)
        values = kernels["sort"](x, axis=axis, descending=descending)
        row, axis = (x.ravel(), 0) if axis is None else (x, axis)
        assert places.shape == values.shape == row.shape and values.dtype == x.dtype
        for at in np.ndindex(*np.delete(row.shape, axis)):
            line, order = np.moveaxis(row, axis, -1)[at], np.moveaxis(places, axis, -1)[at]
            expected = sorted(range(len(line)), key=lambda i, line=line: -float(line[i]) if descending else float(line[i]))
            assert list(order) == expected  # Python's is stable in both directions
            np.testing.assert_array_equal(np.moveaxis(values, axis, -1)[at], line[expected])


@pytest.mark.parametrize("descending", [False, True])
def test_nan_comes_last_or_first(descending):
    x = np.array([2.0, np.nan, 1.0, np.nan])
    assert list(kernels["argsort"](x, descending=descending)) == ([1, 3, 0, 2] if descending else [2, 0, 1, 3])


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_where_values_go(side):
    a, v = np.sort(rng.integers(0, 9, 20)), np.arange(-1, 11)
    smaller = (lambda x, y: x < y) if side == "left" else (lambda x, y: x <= y)
    assert list(kernels["insertion_places"](a, v, side)) == [sum(smaller(x, y) for x in a) for y in v]
    assert kernels["insertion_places"](a, [3], side).shape == (1,)
