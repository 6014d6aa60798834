"""Parts, stacks and blocks: NumPy's values, plain and followed, of arrays and of numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from like_numpy import check, int_arrays, same

import polyad as pa

pytestmark = pytest.mark.quick


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
