"""Places of extrema and in sorted vectors: against NumPy, at ties, NaN and empty arrays, and under each transformation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

some = st.integers(-3, 3) | st.sampled_from([np.nan, np.inf, -np.inf, -0.0])
values = nps.arrays(np.float64, nps.array_shapes(max_dims=3, min_side=1, max_side=4), elements=some)
vectors = nps.arrays(np.float64, st.integers(0, 6), elements=some)


def everywhere(f, x, expected):
    """f of x plain, under a derivative, in a lane and in a program."""
    for found in (f(x), pa.jvp(f, (x,), (x,))[0], pa.make_ir(f)(x)(x)):
        np.testing.assert_array_equal(found, expected)
    lanes = np.stack([x, x[::-1]])
    np.testing.assert_array_equal(pa.vmap(f)(lanes), np.stack([f(lane) for lane in lanes]))


# ---------------------------------------------------------------------- extrema
@settings(max_examples=40)
@given(values, st.data())
def test_places_of_extrema(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    keepdims = data.draw(st.booleans())
    for name in ("argmax", "argmin"):
        params = {"axis": axis, "keepdims": keepdims}
        expected = getattr(np, name)(x, **params)
        everywhere(lambda x, name=name, p=params: getattr(pa, name)(x, **p), x, expected)
        everywhere(lambda x, name=name, p=params: getattr(np, name)(x, **p), x, expected)
    everywhere(lambda x: x.argmax(axis), x, x.argmax(axis))


def test_extrema_of_what_is_a_number():
    x = np.array([[np.nan, 2.0, 3.0], [5.0, np.nan, 1.0]])
    for name in ("nanargmax", "nanargmin"):
        for axis in (None, 0, 1):
            everywhere(lambda x, a=axis, n=name: getattr(pa, n)(x, axis=a), x, getattr(np, name)(x, axis=axis))
    assert pa.nanargmax(np.array([np.nan, np.nan])) == 0


# ---------------------------------------------------------------------- sorted vectors
@settings(max_examples=60)
@given(vectors.map(np.sort), vectors, st.sampled_from(["left", "right"]))
def test_places_in_sorted_vectors(a, v, side):
    expected = np.searchsorted(a, v, side=side)
    np.testing.assert_array_equal(pa.searchsorted(a, v, side=side), expected)
    both = pa.vmap(lambda a, v: np.searchsorted(a, v, side=side))(np.stack([a, a]), np.stack([v, v[::-1]]))
    np.testing.assert_array_equal(both, [expected, np.searchsorted(a, v[::-1], side=side)])
    np.testing.assert_array_equal(pa.vmap(lambda a: pa.searchsorted(a, v, side=side))(a[None])[0], expected)
    order = np.arange(len(a))[::-1].copy()
    np.testing.assert_array_equal(pa.searchsorted(a[::-1], v, side=side, sorter=order), expected)


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 3), max_size=5).map(sorted), vectors, st.booleans(), st.booleans())
def test_digitize(edges, x, right, down):
    bins = np.array(edges[:: -1 if down else 1], float)
    x = np.nan_to_num(x)
    np.testing.assert_array_equal(pa.digitize(x, bins, right=right), np.digitize(x, bins, right=right))
    np.testing.assert_array_equal(pa.vmap(lambda x: np.digitize(x, bins, right=right))(x), np.digitize(x, bins, right=right))


def test_public_report_of_places_that_broadcast():
    places = np.repeat(np.arange(3), 10)[:, None]

    def f(x):
        return pa.sum(pa.take_along_axis(x * np.array([[0.0, 1.0, 2.0]]), places, axis=-1))

    assert pa.value_and_grad(f)(1.0) == (30.0, 30.0)
    assert pa.jvp(f, (1.0,), (1.0,)) == (30.0, 30.0)
    np.testing.assert_array_equal(pa.vmap(pa.grad(f))(np.array([1.0, 2.0])), [30.0, 30.0])


def test_lanes_are_split_by_their_places():
    x = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]])
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(x[np.where(x)] ** 2)

    np.testing.assert_array_equal(pa.vmap(pa.grad(f))(x), 2 * x)
    assert len(runs) == 3  # all, then two kinds of lanes
    found = pa.vmap(lambda x: pa.flatnonzero(x, size=2, fill_value=-1))(x)
    np.testing.assert_array_equal(found, [[0, 2], [1, -1], [0, 2]])


@pytest.mark.parametrize("f", [pa.nonzero, pa.flatnonzero, pa.argwhere, np.nonzero, np.where, lambda x: np.extract(x > 0, x)])
def test_a_trace_needs_the_number_of_places(f):
    with pytest.raises(pa.ConcreteValueError, match=r"how many places there are depends on the values.*give size="):
        pa.make_ir(f)(np.ones(3))


def test_of_a_number():
    assert pa.argwhere(np.float64(2.0)).shape == np.argwhere(2.0).shape == (1, 0)
    assert pa.flatnonzero(np.float64(0.0)).shape == (0,)
    with pytest.raises(pa.ShapeError, match="nonzero"):
        pa.nonzero(2.0)


@pytest.mark.parametrize(("error", "call", "text"), [
    (pa.ShapeError, lambda: pa.argmax(np.zeros(0)), "argmax.*empty"),
    (pa.ShapeError, lambda: pa.sort(np.ones(2), axis=1), "sort"),
    (pa.ShapeError, lambda: pa.searchsorted(np.ones((2, 2)), 1.0), "searchsorted: .* has not one axis"),
    (pa.ShapeError, lambda: pa.searchsorted(np.ones(2), 1.0, side="middle"), "searchsorted: side must be 'left' or 'right'"),
    (pa.ShapeError, lambda: pa.take_along_axis(np.ones((2, 2)), np.array([1]), axis=0), "take_along_axis: .* equally many"),
    (pa.ShapeError, lambda: pa.partition(np.ones(2), 5), "partition: place 5 is out of range for 2 elements"),
    (pa.ShapeError, lambda: pa.lexsort([np.ones(2), np.ones(3)]), "lexsort: shapes differ"),
    (pa.ShapeError, lambda: pa.select([np.ones(2) > 0], []), "select: 1 conditions for 0 choices"),
    (pa.ShapeError, lambda: pa.piecewise(np.ones(2), [np.ones(2) > 0], []), "piecewise: 0 functions for 1 conditions"),
    (pa.ShapeError, lambda: pa.compress(np.ones((2, 2)), np.ones(2)), "compress: the condition .* is not a vector"),
    (pa.ShapeError, lambda: pa.digitize(1.0, np.ones((2, 2))), "digitize: bins is .*, not a vector of edges"),
])  # fmt: skip
def test_refusals(error, call, text):
    with pytest.raises(error, match=text):
        call()


def test_methods():
    x = np.array([1.0, 4.0, 2.0])
    for name, args in (("argmax", ()), ("argmin", ()), ("argsort", ()), ("searchsorted", (np.array([0.5, 3.0]),))):
        expected = getattr(np.sort(x) if name == "searchsorted" else x, name)(*args)
        f = lambda x, n=name, a=args: getattr(np.sort(x) if n == "searchsorted" else x, n)(*a)
        np.testing.assert_array_equal(pa.jvp(f, (x,), (x,))[0], expected)
    np.testing.assert_array_equal(pa.grad(lambda x: x[x.argmax()] * 3 + x[x.nonzero()].sum())(x), [1.0, 4.0, 1.0])
