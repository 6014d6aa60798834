"""vmap means `stack([f(x[k]) for k in range(n)])`: axes in and out, few lanes and none, nested maps, errors."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x23 = np.arange(6.0).reshape(2, 3)


# --- axes in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out_axis", [0, 1, 2, -1, -3])
def test_axis_in_and_out(rng, in_axis, out_axis):
    x = rng.standard_normal((2, 3, 4))
    f = lambda a: np.tanh(a) @ a.T
    found = pa.vmap(f, in_axes=in_axis, out_axes=out_axis)(x)
    np.testing.assert_allclose(found, np.stack([f(a) for a in np.moveaxis(x, in_axis, 0)], out_axis), rtol=1e-13)


@pytest.mark.parametrize("size", [0, 1])
def test_few_lanes(rng, size):
    x = rng.standard_normal((size, 3))
    f = lambda a: {"s": np.sum(a), "outer": np.outer(a, a), "n": 1.0}
    found = pa.vmap(f)(x)
    assert {k: v.shape for k, v in found.items()} == {"s": (size,), "outer": (size, 3, 3), "n": (size,)}
    np.testing.assert_allclose(found["outer"], x[:, :, None] * x[:, None, :])
    branch = pa.vmap(lambda a: a if a.sum() > 0 else -a)(x)
    assert branch.shape == (size, 3)


def test_loops_end_without_lanes():
    def until(x):
        while not x > 10:
            x = x * 2
        while x > 1:
            x = x / 2
        return x

    assert pa.vmap(until)(np.zeros(0)).shape == (0,)

    def between(x):
        while x < 3 or x > 5:
            x = x + 1
        return x

    assert pa.vmap(between)(np.zeros(0)).shape == (0,)

    def never(x):
        while not (x < 3 and not x < 3):
            x = x + 1
        return x

    with pytest.raises(pa.LaneSplitError, match=r"vmap\(never\): no lanes: the path is undetermined, .* at least one lane"):
        pa.vmap(never)(np.zeros(0))


def test_values_of_a_map_that_has_ended():
    kept = []
    pa.vmap(lambda x: (kept.append(x), x)[1])(np.ones(3))
    for late in (
        lambda: pa.vmap(lambda x: x)(kept[0]),
        lambda: pa.vmap(lambda x: kept[0])(np.ones(3)),
        lambda: pa.vmap(lambda x, y: x, in_axes=(0, None))(np.ones(3), [kept[0]]),
    ):
        with pytest.raises(pa.LeakedLayerError, match=r"a value of vmap\(<lambda>\) .* was used after"):
            late()


# --- nesting ---------------------------------------------------------------------------------------------------


def test_nested(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    f = lambda a, b: np.sum(a * b)
    table = pa.vmap(pa.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(table, x @ y.T)
    other = pa.vmap(pa.vmap(f, in_axes=(0, None)), in_axes=(None, 0), out_axes=1)(x, y)
    np.testing.assert_allclose(other, x @ y.T)


def test_three_levels_with_inner_axes(rng):
    x = rng.standard_normal((2, 3, 4, 5))
    f = pa.vmap(pa.vmap(pa.vmap(np.sum, in_axes=-1), in_axes=1, out_axes=-1), in_axes=1)
    expected = np.empty((3, 5, 4))
    for i in range(3):
        for j in range(4):
            for k in range(5):
                expected[i, k, j] = x[:, i, j, k].sum()
    np.testing.assert_allclose(f(x), expected)


def test_values_of_the_outer_map_inside_the_inner():
    found = pa.vmap(lambda x: pa.vmap(lambda y: x * 10 + y)(np.arange(3.0)))(np.arange(2.0))
    np.testing.assert_array_equal(found, [[0, 1, 2], [10, 11, 12]])


# --- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pa.vmap(np.add, in_axes=(0,))(x23, x23), pa.ShapeError, "in_axes (0,) has 1 entries for 2 arguments"),
        (lambda: pa.vmap(np.sin, in_axes=2)(x23), pa.ShapeError, "argument 0: axis 2 is out of range"),
        (lambda: pa.vmap(np.sin, in_axes=-3)(x23), pa.ShapeError, "axis -3 is out of range for an array with 2 axes"),
        (lambda: pa.vmap(np.sin, in_axes="x")(x23), pa.ShapeError, "an axis must be an integer, not 'x'"),
        (lambda: pa.vmap(np.sin, in_axes=1.5)(x23), pa.ShapeError, "an axis must be an integer, not 1.5"),
        (lambda: pa.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": x23}), pa.StructureError, "in_axes"),
        (lambda: pa.vmap(np.add)(x23, 2.0), pa.ShapeError, "argument 1 has no axis 0 to map; use in_axes=None"),
        (lambda: pa.vmap(np.add)(x23, np.ones(3)), pa.ShapeError, "1 has 3 lanes, but vmap(add): argument 0 has 2"),
        (lambda: pa.vmap(np.sin, axis_size=4)(x23), pa.ShapeError, "argument 0 has 2 lanes, but axis_size has 4"),
        (lambda: pa.vmap(np.sin, in_axes=None)(x23), pa.ShapeError, "no argument is mapped; give axis_size"),
        (lambda: pa.vmap(lambda: 1.0)(), pa.ShapeError, "no argument is mapped"),
        (lambda: pa.vmap(np.sin, out_axes=None)(x23), pa.ShapeError, "out_axes is None for a result that differs"),
        (lambda: pa.vmap(np.sin, out_axes=2)(x23), pa.ShapeError, "out_axes: axis 2 is out of range"),
        (lambda: pa.vmap(np.sin, out_axes=(0, 0))(x23), pa.StructureError, "out_axes"),
        (lambda: pa.vmap(lambda p: p["a"]["b"])({"a": {"b": 1.0}}), pa.ShapeError, "argument 0['a']['b'] has no axis"),
        (lambda: pa.vmap(lambda *, k: k)(k=2.0), pa.ShapeError, "argument 'k' has no axis 0 to map"),
        (lambda: pa.vmap(float)(np.ones(2)), pa.ConcreteValueError, "float() of a Batched[1] of float64[]"),
        (lambda: pa.vmap(lambda x: x.item())(np.ones(2)), pa.ConcreteValueError, ".item() of a Batched[1]"),
        (lambda: pa.vmap(lambda x: bool(x))(x23), pa.ShapeError, "bool() of an array of shape [3] is ambiguous"),
        (lambda: pa.vmap(int)(np.ones(2)), pa.ConcreteValueError, "lanes can be split by booleans and integers only"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as found:
        call()
    assert text in str(found.value)
