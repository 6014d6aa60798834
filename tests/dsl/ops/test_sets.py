"""Different elements and what arrays have in common: against NumPy, in lanes, and of static size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

ints = nps.arrays(np.int64, nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), elements=st.integers(-2, 2))
floats = nps.arrays(np.float64, st.integers(0, 6), elements=st.integers(-2, 2) | st.sampled_from([np.nan, np.inf]))
vectors = nps.arrays(np.int64, st.integers(0, 6), elements=st.integers(-2, 2))
everything = {"return_index": True, "return_inverse": True, "return_counts": True}


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def followed(f, x):
    """f in the layer of a derivative and in a lane."""
    yield pa.jvp(lambda v: f(x + 0 * v.astype(x.dtype) if x.dtype.kind == "i" else v), (x * 1.0,), (x * 1.0,))[0]
    yield [part[0] for part in pa.vmap(f)(x[None])]


@settings(max_examples=40)
@given(st.one_of(ints, floats), st.booleans())
def test_different_elements(x, equal_nan):
    expected = np.unique(x, equal_nan=equal_nan, **everything)
    same(pa.unique(x, equal_nan=equal_nan, **everything), expected)
    for found in followed(lambda x: np.unique(x, equal_nan=equal_nan, **everything), x):
        same(found, expected)
    np.testing.assert_array_equal(pa.unique(x), np.unique(x))


@settings(max_examples=40)
@given(ints.filter(lambda x: x.size), st.data())
def test_different_slices(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    expected = np.unique(x, axis=axis, **everything)
    for found in (pa.unique(x, axis=axis, **everything), *followed(lambda x: np.unique(x, axis=axis, **everything), x)):
        np.testing.assert_array_equal(found[0], expected[0])
        for a, b in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(np.ravel(a), np.ravel(b))  # NumPy's shape of the inverse differs by version


@settings(max_examples=40)
@given(vectors, st.integers(0, 7))
def test_of_static_size(x, size):
    values, index, inverse, counts = np.unique(x, **everything)
    n = min(size, len(values))
    if not len(x) and size:
        return  # there is nothing to repeat
    program = pa.make_ir(lambda x: pa.unique(x, size=size, fill_value=9, **everything))(x)
    found = program(x)
    np.testing.assert_array_equal(found[0], [*values[:n], *[9] * (size - n)])
    np.testing.assert_array_equal(found[1][:n], index[:n])
    np.testing.assert_array_equal(found[2], inverse)
    np.testing.assert_array_equal(found[3][: min(n, max(size - 1, 0))], counts[: min(n, max(size - 1, 0))])
    if n == len(values):
        np.testing.assert_array_equal(found[3], [*counts, *[0] * (size - n)])
    np.testing.assert_array_equal(pa.vmap(lambda x: pa.unique(x, size=size, fill_value=9))(x[None])[0], found[0])


def test_filled_up_with_the_smallest():
    np.testing.assert_array_equal(pa.unique(np.array([3, 1, 3]), size=4), [1, 3, 1, 1])


def test_lanes_with_different_numbers_of_elements():
    x = np.array([[1.0, 1.0, 2.0], [3.0, 2.0, 1.0], [5.0, 5.0, 5.0]])
    np.testing.assert_array_equal(pa.vmap(lambda x: np.sum(np.unique(x)))(x), [3.0, 6.0, 5.0])
    with pytest.raises(pa.LaneSplitError):
        pa.vmap(np.unique)(x)


def test_derivatives_go_to_the_first_occurrences():
    x = np.array([2.0, 1.0, 2.0])
    weights = np.array([3.0, 5.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(np.unique(x) * weights))(x), [5.0, 3.0, 0.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.unique(x, size=3)))(x), [1.0, 2.0, 0.0])


def test_the_array_apis_forms():
    x = np.array([[2.0, 1.0], [2.0, np.nan]])
    for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
        expected = getattr(np, name)(x)
        for found in (getattr(pa, name)(x), getattr(np, name)(x)):
            if name == "unique_values":
                np.testing.assert_array_equal(np.sort(found), np.sort(expected))
                continue
            assert found._fields == expected._fields
            same(found, expected)
        part = pa.vmap(lambda x, name=name: getattr(np, name)(x))(x[None])
        assert type(part) is type(getattr(pa, name)(x))


@settings(max_examples=60)
@given(vectors, vectors, st.booleans())
def test_in_common(x, y, invert):
    np.testing.assert_array_equal(pa.isin(x, y, invert=invert), np.isin(x, y, invert=invert))
    np.testing.assert_array_equal(pa.in1d(x[None], y), np.isin(x, y))
    np.testing.assert_array_equal(pa.vmap(np.isin)(x[None], y[None])[0], np.isin(x, y))
    for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
        expected = getattr(np, name)(x, y)
        np.testing.assert_array_equal(getattr(pa, name)(x, y), expected)
        np.testing.assert_array_equal(pa.vmap(getattr(np, name))(x[None], y[None])[0], expected)
        if len(expected):
            size = len(expected)
            program = pa.make_ir(lambda x, y, n=name, k=size: getattr(pa, n)(x, y, size=k))(x, y)
            np.testing.assert_array_equal(program(x, y), expected)
    same(pa.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True))


def test_elements_that_are_not_numbers():
    x = np.array([np.nan, 1.0, np.inf])
    np.testing.assert_array_equal(pa.isin(x, x), np.isin(x, x))
    np.testing.assert_array_equal(pa.isin(np.float64(1.0), x), True)
    assert pa.isin(x, np.zeros(0)).tolist() == [False] * 3


def test_order_is_kept_if_elements_are_unique():
    x = np.array([3, 1, 2])
    np.testing.assert_array_equal(pa.setdiff1d(x, np.array([1]), assume_unique=True), [3, 2])


@pytest.mark.parametrize("f", [pa.unique, pa.unique_all, pa.unique_values, np.unique, lambda x: pa.union1d(x, x),
                               lambda x: pa.intersect1d(x, x), lambda x: pa.setdiff1d(x, x)])  # fmt: skip
def test_a_trace_needs_a_size(f):
    with pytest.raises(pa.ConcreteValueError, match="depends on the values, which a trace does not have; give size="):
        pa.make_ir(f)(np.ones(3))


def test_complex_numbers():
    x, y = np.array([1 + 1j, 2.0, 1 - 1j, 2.0]), np.array([2.0, 1 - 1j])
    np.testing.assert_array_equal(pa.isin(x, y), np.isin(x, y))
    np.testing.assert_array_equal(pa.unique(x), np.unique(x))
    np.testing.assert_array_equal(pa.vmap(np.isin)(x[None], y[None])[0], np.isin(x, y))
