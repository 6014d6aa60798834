"""Flips, turns, rolls, repetitions, triangles, diagonals, padding, splitting, stacking, editing: against NumPy itself."""

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


@settings(max_examples=30)
@given(int_arrays, st.data())
def test_parts(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    places = data.draw(st.lists(st.integers(-5, 5), max_size=3).map(sorted))
    check("array_split", x, data.draw(st.integers(1, 4)), axis=axis)
    check("array_split", x, places, axis=axis)
    check("split", x, places, axis=axis)
    check("split", x, np.array(places, int), axis=axis)
    check("hsplit", x, places)
    if x.ndim > 1:
        check("vsplit", x, places)
    if x.ndim > 2:
        check("dsplit", x, places)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 2, 2)])
def test_stacks(name, shape, rng):
    x, y = rng.standard_normal(shape), rng.standard_normal(shape)
    expected = getattr(np, name)([x, y])
    same(getattr(pa, name)([x, y]), expected)
    same(getattr(pa, name)((x, y.astype(np.float32))), getattr(np, name)((x, y.astype(np.float32))))
    for f in (getattr(pa, name), getattr(np, name)):
        same(pa.jvp(lambda x, y, f=f: f([x, y]), (x, y), (x, y))[1], expected)
        same(pa.vmap(lambda x, y, f=f: f([x, y]))(x[None], y[None])[0], expected)


def test_numbers_are_stacked():
    same(pa.hstack([np.float64(1.0), np.float64(2.0)]), np.hstack([1.0, 2.0]))
    same(pa.vstack([np.float64(1.0), np.ones(1)]), np.vstack([1.0, np.ones(1)]))


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_at_least(name):
    xs = [np.float64(1.0), np.ones(2), np.ones((2, 3)), np.ones((2, 3, 1, 1))]
    for x in xs:
        same(getattr(pa, name)(x), getattr(np, name)(x))
        assert pa.make_ir(getattr(np, name))(x).outputs[0].aval.shape == getattr(np, name)(x).shape
    same(getattr(pa, name)(*xs), getattr(np, name)(*xs))
    same(getattr(pa, name)(2), getattr(np, name)(2))


def test_block():
    a, b = np.arange(4.0).reshape(2, 2), np.ones((2, 1))
    for blocks in ([a, b], [[a, b], [np.zeros((1, 3))]], a, [1, 2, 3], [[np.ones(2)], [np.ones(2)]], [[[a, a]]]):
        same(pa.block(blocks), np.block(blocks))
    assert pa.grad(lambda x: pa.sum(np.block([[x, 2 * x], [x, x]]))).__call__(a).tolist() == [[5.0, 5.0], [5.0, 5.0]]
    with pytest.raises(pa.ShapeError, match="block: lists must be nested equally deep"):
        pa.block([[a], a])


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


def test_unknown_padding():
    with pytest.raises(pa.DTypeError, match="pad: mode 'mean' is not offered; modes are 'constant', 'edge'"):
        pa.pad(np.ones(2), 1, mode="mean")


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
