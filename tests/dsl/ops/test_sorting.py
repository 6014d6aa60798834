"""Orders: NumPy's at ties, NaN and empty arrays; several keys, parts, and writing along an axis."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

some = st.integers(-3, 3) | st.sampled_from([np.nan, np.inf, -np.inf, -0.0])
values = nps.arrays(np.float64, nps.array_shapes(max_dims=3, min_side=1, max_side=4), elements=some)


def everywhere(f, x, expected):
    """f of x plain, under a derivative, in a lane and in a program."""
    for found in (f(x), pa.jvp(f, (x,), (x,))[0], pa.make_ir(f)(x)(x)):
        np.testing.assert_array_equal(found, expected)
    lanes = np.stack([x, x[::-1]])
    np.testing.assert_array_equal(pa.vmap(f)(lanes), np.stack([f(lane) for lane in lanes]))


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
