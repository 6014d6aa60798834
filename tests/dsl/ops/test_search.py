"""Places, orders and choices: against NumPy, at ties, NaN and empty arrays, and under each transformation."""

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


# ---------------------------------------------------------------------- orders
@settings(max_examples=40)
@given(values, st.data())
def test_orders(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    everywhere(lambda x: pa.argsort(x, axis=axis), x, np.argsort(x, axis=axis, stable=True))
    everywhere(lambda x: np.sort(x, axis=axis), x, np.sort(x, axis=axis))
    clean = np.nan_to_num(x, posinf=9.0, neginf=-9.0)
    everywhere(lambda x: pa.argsort(x, axis=axis, descending=True), clean, np.argsort(-clean, axis=axis, stable=True))
    everywhere(lambda x: pa.sort(x, axis=axis, descending=True), clean, -np.sort(-clean, axis=axis))


def test_derivatives_follow_the_elements():
    x = np.array([2.0, 1.0, 2.0, 1.0])  # equal elements keep their order
    weights = np.arange(4.0)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.sort(x) * weights))(x), [2.0, 0.0, 3.0, 1.0])
    down = pa.grad(lambda x: pa.sum(pa.sort(x, descending=True) * weights))(x)
    np.testing.assert_array_equal(down, [0.0, 2.0, 1.0, 3.0])
    np.testing.assert_array_equal(pa.grad(lambda x: pa.max(x))(x), [0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(pa.grad(lambda x: np.partition(x, 1)[0])(np.array([3.0, 1.0, 2.0])), [0.0, 1.0, 0.0])


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=7))
def test_several_keys(rows):
    keys = np.array(rows).T * 1.0
    expected = np.lexsort(keys)
    np.testing.assert_array_equal(pa.lexsort(keys), expected)
    np.testing.assert_array_equal(pa.lexsort(list(keys)), expected)
    np.testing.assert_array_equal(pa.vmap(np.lexsort)(keys[None])[0], expected)


def test_partitions():
    x = np.array([5.0, 1.0, 4.0, 2.0])
    for kth in (1, -1, (0, 2)):
        part, order = pa.partition(x, kth), pa.argpartition(x, kth)
        np.testing.assert_array_equal(part[list(np.atleast_1d(kth))], np.sort(x)[list(np.atleast_1d(kth))])
        np.testing.assert_array_equal(x[order], part)


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


def test_writing_along_an_axis(rng):
    x, v = rng.standard_normal((3, 4)), rng.standard_normal((3, 1))
    places = np.array([[1], [3], [0]])
    expected = x.copy()
    np.put_along_axis(expected, places, v, axis=1)
    np.testing.assert_array_equal(pa.put_along_axis(x, places, v, axis=1), expected)
    flat = x.copy()
    np.put_along_axis(flat, np.array([0, 5]), 7.0, axis=None)
    np.testing.assert_array_equal(pa.put_along_axis(x, np.array([0, 5]), 7.0, axis=None), flat)
    pa.check_grads(lambda x, v: pa.put_along_axis(x, places, v, axis=1), (x, v), order=2)


# ---------------------------------------------------------------------- not zero
@settings(max_examples=40)
@given(nps.arrays(np.float64, nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3), elements=st.integers(0, 1)))
def test_not_zero(x):
    for found in (pa.nonzero(x), np.nonzero(x), x.nonzero()):
        for a, b in zip(found, np.nonzero(x), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(pa.flatnonzero(x), np.flatnonzero(x))
    np.testing.assert_array_equal(pa.argwhere(x), np.argwhere(x))
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(x[np.nonzero(x)] ** 2))(x), 2 * x)
    count = int(np.count_nonzero(x))
    assert pa.count_nonzero(x) == count
    for size in {max(count - 1, 0), count, count + 2}:
        program = pa.make_ir(lambda x, size=size: pa.nonzero(x, size=size, fill_value=-7))(x)
        for a, b in zip(program(x), np.nonzero(x), strict=True):
            kept = min(size, count)
            np.testing.assert_array_equal(a, [*b[:kept], *[-7] * (size - kept)])


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


# ---------------------------------------------------------------------- choices
def test_choices():
    x = np.array([-2.0, 0.5, 3.0])
    for f in (lambda x, m: m.select([x < 0, x > 1], [x * x, 3 * x], 7.0), lambda x, m: m.select([x < 0], [x]),
              lambda x, m: m.piecewise(x, [x < 0, x > 1], [lambda v: v * v, 3.0]),
              lambda x, m: m.piecewise(x, [x < 0], [lambda v: v * v, lambda v: 3 * v]),
              lambda x, m: m.choose(np.array([1, 0, 1]), [x, 2 * x]),
              lambda x, m: m.choose(np.array([5, 0, -1]), [x, 2 * x], mode="clip"),
              lambda x, m: m.choose(np.array([5, 0, -1]), [x, 2 * x], mode="wrap"),
              lambda x, m: m.extract(np.array([True, False, True]), x), lambda x, m: m.compress(np.array([True, False]), x),
              lambda x, m: m.compress(np.array([True]), x[None], axis=0)):  # fmt: skip
        expected = f(x, np)
        np.testing.assert_array_equal(f(x, pa), expected)
        for module in (np, pa):
            np.testing.assert_array_equal(pa.jvp(lambda x, f=f, m=module: f(x, m), (x,), (x,))[0], expected)
            pa.check_grads(lambda x, f=f, m=module: f(x, m), (x,), order=2)


def test_the_branch_not_taken_has_no_derivative():
    x = np.array([-1.0, 0.0, 4.0])
    with np.errstate(all="ignore"):
        slope = pa.grad(lambda x: pa.sum(pa.piecewise(x, [x > 0], [lambda v: v**0.5])))(x)
    np.testing.assert_array_equal(slope, [0.0, 0.0, 0.25])


def test_extrema_that_pass_over_nan():
    x, y = np.array([np.nan, 1.0, 2.0, np.nan]), np.array([1.0, np.nan, 2.0, np.nan])
    for name in ("fmax", "fmin"):
        np.testing.assert_array_equal(getattr(pa, name)(x, y), getattr(np, name)(x, y))
        cts = pa.vjp(getattr(np, name), x, y)[1](np.ones(4))
        np.testing.assert_array_equal(cts[0], [0.0, 1.0, 0.5, 0.5])
        np.testing.assert_array_equal(cts[1], [1.0, 0.0, 0.5, 0.5])


@settings(max_examples=60)
@given(vectors, st.data())
def test_nearness(x, data):
    y = x + data.draw(st.sampled_from([0.0, 1e-9, 1e-3]))
    for equal_nan in (False, True):
        np.testing.assert_array_equal(pa.isclose(x, y, equal_nan=equal_nan), np.isclose(x, y, equal_nan=equal_nan))
        assert pa.allclose(x, y, equal_nan=equal_nan) == np.allclose(x, y, equal_nan=equal_nan)
        assert pa.array_equal(x, y, equal_nan=equal_nan) == np.array_equal(x, y, equal_nan=equal_nan)
    assert pa.array_equiv(x, y[None]) == np.array_equiv(x, y[None])
    assert not pa.array_equal(x, np.ones(9)) and not pa.array_equiv(np.ones(2), np.ones(3))


def test_lanes_are_split_by_nearness():
    f = lambda x: x * 10 if np.allclose(x, 1.0) else -x
    np.testing.assert_array_equal(pa.vmap(f)(np.array([1.0, 2.0, 1.0])), [10.0, -2.0, 10.0])
    assert pa.grad(f)(1.0) == 10.0


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
