"""The arguments of a mapped function: any axes, trees, what is not mapped, and sizes that do not fit."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa

pytestmark = pytest.mark.quick


x23 = np.arange(6.0).reshape(2, 3)


class Pair(NamedTuple):
    left: object
    right: object


@given(st.data())
def test_any_axes(data):
    ndim = data.draw(st.integers(1, 4))
    lengths = st.integers(0, 3)
    size = data.draw(lengths)
    places = [data.draw(st.none() | st.integers(-ndim, ndim - 1)) for _ in range(2)]
    if all(p is None for p in places):
        places[0] = 0
    lane = tuple(data.draw(lengths) for _ in range(ndim - 1))
    rng = np.random.default_rng(3)
    mapped = [np.insert(lane, p % ndim, size) if p is not None else lane for p in places]
    x, y = (rng.standard_normal(tuple(map(int, shape))) for shape in mapped)
    out_axis = data.draw(st.integers(-ndim, ndim - 1))
    f = lambda a, b: a * 2 - b
    found = pa.vmap(f, in_axes=tuple(places), out_axes=out_axis)(x, y)
    wide = lambda v: np.broadcast_to(v, (size, *lane))
    rows = [wide(v) if p is None else np.moveaxis(v, p, 0) for v, p in zip((x, y), places)]
    np.testing.assert_array_equal(found, np.moveaxis(f(*rows), 0, out_axis))


def test_in_axes_of_several_arguments(rng):
    x, y, z = rng.standard_normal((2, 3)), rng.standard_normal((3, 2)), rng.standard_normal(3)
    f = lambda a, b, c: a * b + c
    expected = np.stack([x[k] * y[:, k] + z for k in range(2)])
    for axes in ((0, 1, None), [0, -1, None]):
        np.testing.assert_array_equal(pa.vmap(f, in_axes=axes)(x, y, z), expected)


def test_in_axes_are_a_prefix_of_the_arguments(rng):
    w = {"w": rng.standard_normal((3, 2)), "b": rng.standard_normal(3)}
    x = (rng.standard_normal((2, 3)), [rng.standard_normal(3), rng.standard_normal((3, 2))])
    f = lambda p, v: {"y": v[0] * p["w"] + p["b"], "z": Pair(v[1][0], v[1][1])}
    found = pa.vmap(f, in_axes=({"w": 1, "b": None}, (0, [None, 1])))(w, x)
    np.testing.assert_array_equal(found["y"], np.stack([x[0][k] * w["w"][:, k] + w["b"] for k in range(2)]))
    assert isinstance(found["z"], Pair)
    np.testing.assert_array_equal(found["z"].left, np.stack([x[1][0]] * 2))
    np.testing.assert_array_equal(found["z"].right, x[1][1].T)


def test_arguments_that_are_not_mapped_may_be_anything():
    f = lambda x, how, none: np.sin(x) if how == "sin" and none is None else x
    np.testing.assert_array_equal(pa.vmap(f, in_axes=(0, None, None))(x23, "sin", None), np.sin(x23))


def test_keywords_are_mapped_over_axis_0():
    f = lambda x, *, scale, shift: x * scale + shift["s"]
    found = pa.vmap(f, in_axes=None)(np.ones(3), scale=np.array([1.0, 2.0]), shift={"s": np.array([0.0, 1.0])})
    np.testing.assert_array_equal(found, [[1, 1, 1], [3, 3, 3]])


def test_axis_size_alone():
    np.testing.assert_array_equal(pa.vmap(lambda: np.arange(2.0), axis_size=3)(), np.tile(np.arange(2.0), (3, 1)))
    np.testing.assert_array_equal(pa.vmap(lambda x: x + 1, in_axes=None, axis_size=2)(1.0), [2.0, 2.0])


def test_a_static_attribute_that_belongs_to_the_map():
    @pa.array_type(leaves=["x"], static=["scale"])
    class Scaled(pa.Container):
        def __init__(self, x, scale):
            self.x, self.scale = x, scale

        @property
        def shape(self):
            return self.x.shape

        @property
        def dtype(self):
            return self.x.dtype

    with pytest.raises(pa.LeakedLayerError, match=r"static attribute 'scale' of the Scaled returned is a Batched"):
        pa.vmap(lambda x: Scaled(x, x[0]))(np.ones((3, 2)))
    assert pa.vmap(lambda x: Scaled(x, 2.0))(np.ones((3, 2))).scale == 2.0


def test_sizes_of_two_leaves_of_one_argument():
    with pytest.raises(pa.ShapeError, match=r"argument 0\['b'\] has 3 lanes, but .*argument 0\['a'\] has 2"):
        pa.vmap(lambda p: p["a"])({"a": np.ones(2), "b": np.ones(3)})
