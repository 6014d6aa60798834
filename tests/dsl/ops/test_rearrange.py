"""Flips, turns, rolls, repetitions, triangles, diagonals, and all that moves elements: against NumPy itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from like_numpy import check, int_arrays

import polyad as pa

pytestmark = pytest.mark.quick


@settings(max_examples=30)
@given(int_arrays, st.data())
def test_flips_and_rolls(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim), tuple(range(x.ndim))]))
    check("flip", x, axis=axis)
    shift = data.draw(st.integers(-9, 9))
    check("roll", x, shift, axis=axis)
    if x.ndim > 1:
        a, b = data.draw(st.permutations(range(x.ndim)))[:2]
        check("rot90", x, k=data.draw(st.integers(-5, 5)), axes=(a, b - x.ndim))
        check("rollaxis", x, a, data.draw(st.integers(-x.ndim, x.ndim)))
        check("flipud", x)
        check("fliplr", x)


@settings(max_examples=30)
@given(int_arrays, st.data())
def test_repetitions(x, data):
    counts = st.integers(0, 3)
    check("tile", x, data.draw(counts | st.lists(counts, min_size=1, max_size=4).map(tuple)))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    n = x.size if axis is None else x.shape[axis]
    check("repeat", x, data.draw(counts | st.lists(counts, min_size=n, max_size=n)), axis=axis)
    check("resize", x, data.draw(st.lists(counts, max_size=3).map(tuple)))


@settings(max_examples=30)
@given(int_arrays.filter(lambda x: x.ndim > 1), st.data())
def test_triangles_and_diagonals(x, data):
    k = data.draw(st.integers(-5, 5))
    check("tril", x, k=k)
    check("triu", x, k=k)
    a, b = data.draw(st.permutations(range(x.ndim)))[:2]
    check("diagonal", x, offset=k, axis1=a, axis2=b - x.ndim)
    check("trace", x, offset=k, axis1=a, axis2=b - x.ndim)
    if x.ndim == 2:
        check("diag", x, k=k)
    check("diagflat", x, k=k)
    check("diag", x.ravel(), k=k)


@pytest.mark.parametrize("make", [
    lambda: np.zeros((0, 3)), lambda: np.arange(24.0).reshape(4, 6)[::2, ::3],
    lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    lambda: np.arange(4, dtype=">f8").reshape(2, 2), lambda: np.arange(6, dtype=np.float16).reshape(2, 3),
], ids=["empty", "strided", "fortran", "big-endian", "half"])  # fmt: skip
def test_unusual_arrays(make):
    x = make()
    for name, args, params in (("flip", (), {}), ("roll", (1,), {}), ("tile", (2,), {}), ("repeat", (2,), {"axis": 1}),
                               ("tril", (), {}), ("diagonal", (), {}), ("pad", (1,), {}), ("diag", (), {})):  # fmt: skip
        expected = getattr(np, name)(x, *args, **params)
        np.testing.assert_array_equal(getattr(pa, name)(x, *args, **params), expected)


def test_results_are_as_separate_as_numpys():
    """Where NumPy copies, a write to the result leaves the argument alone; where it makes a view, it does not."""

    def write(make, x):
        y = make(x)
        y[0] = 5.0
        return pa.sum(x * np.array([1.0, 10.0, 100.0]))

    x = np.zeros(3)
    for make in (lambda x: np.roll(x, 0), lambda x: np.roll(x, 3, axis=0), lambda x: np.tile(x, 1), lambda x: np.pad(x, 0),
                 lambda x: np.repeat(x, 1), lambda x: np.resize(x, (3,)), np.cumsum, np.sort):  # fmt: skip
        assert pa.jvp(lambda x, make=make: write(make, x), (x,), (x,))[0] == 0.0
    assert pa.jvp(lambda x: write(np.flip, x), (x,), (x,))[0] == 500.0
    assert pa.jvp(lambda x: write(lambda x: np.split(x, [1])[1], x), (x,), (x,))[0] == 50.0


@pytest.mark.parametrize(("call", "text"), [
    (lambda: pa.rot90(np.ones((2, 2)), axes=(0, 0)), r"rot90: axes \(0, 0\) name one axis twice"),
    (lambda: pa.tril(np.ones(2)), r"tril: ndarray\(float64\[2\]\) has fewer than two axes"),
    (lambda: pa.roll(np.ones(2), (1, 2), axis=(0, 0, 0)), r"roll: 2 shifts for 3 axes"),
    (lambda: pa.split(np.ones(4), 3), r"split: axis 0 of .* has no 3 equal parts; use polyad.array_split"),
    (lambda: pa.array_split(np.ones(4), 0), r"array_split: the number of parts must be at least 1"),
    (lambda: pa.vsplit(np.ones(4), 2), r"vsplit: .* has fewer than 2 axes"),
    (lambda: pa.pad(np.ones(2), -1), r"pad: widths must not be negative"),
    (lambda: pa.pad(np.ones((2, 2)), ((1, 1),) * 3), r"pad: pad_width .* does not fit .*; give \(before, after\)"),
    (lambda: pa.insert(np.ones(2), 7, 1.0), r"insert: obj must be places from -2 to 2 of axis 0"),
    (lambda: pa.hstack([np.ones(2), np.ones((2, 2))]), r"concatenate"),
    (lambda: pa.diag(np.ones((2, 2, 2))), r"diag"),
    (lambda: pa.resize(np.ones(2), (-1,)), r"resize: lengths must not be negative"),
    (lambda: pa.diagonal(np.ones((2, 2)), axis1=0, axis2=0), r"diagonal"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(pa.ShapeError, match=text):
        call()


def test_places_that_differ_between_lanes():
    """Counts and places are part of shapes: lanes are split by them."""
    x = np.arange(3.0)
    assert pa.vmap(lambda n: pa.sum(pa.repeat(np.ones(3), n)))(np.array([1, 2, 1])).tolist() == [3.0, 6.0, 3.0]
    assert pa.vmap(lambda i: pa.sum(np.delete(x, i)))(np.array([0, 1])).tolist() == [3.0, 2.0]
    found = pa.vmap(lambda i: pa.insert(x, i, 9.0))(np.array([0, 1]))
    np.testing.assert_array_equal(found, [[9, 0, 1, 2], [0, 9, 1, 2]])
    np.testing.assert_array_equal(pa.vmap(lambda i: pa.roll(x, i))(np.array([0, 1])), [[0, 1, 2], [2, 0, 1]])


def test_methods():
    x = np.arange(9.0).reshape(3, 3)
    f = lambda x: pa.sum(x.repeat(2, axis=0)) + pa.sum(x.diagonal(1)) + x.trace()
    assert pa.jvp(f, (x,), (x,))[1] == f(x)
    np.testing.assert_array_equal(pa.grad(f)(x), np.full((3, 3), 2.0) + np.eye(3) + np.eye(3, k=1))
