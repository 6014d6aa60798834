"""vmap means `stack([f(x[k]) for k in range(n)])`: axes, trees, errors, and lanes that go separate ways."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa

pytestmark = pytest.mark.quick

x23 = np.arange(6.0).reshape(2, 3)


def loop(f, *xs, axis=0):
    return np.stack([f(*lane) for lane in zip(*xs, strict=True)], axis)


class Pair(NamedTuple):
    left: object
    right: object


# --- axes in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out_axis", [0, 1, 2, -1, -3])
def test_axis_in_and_out(rng, in_axis, out_axis):
    x = rng.standard_normal((2, 3, 4))
    f = lambda a: np.tanh(a) @ a.T
    found = pa.vmap(f, in_axes=in_axis, out_axes=out_axis)(x)
    np.testing.assert_allclose(found, np.stack([f(a) for a in np.moveaxis(x, in_axis, 0)], out_axis), rtol=1e-13)


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


def test_results_own_their_memory():
    x, w = np.arange(6.0).reshape(3, 2), np.ones(2)
    given = x.copy(), w.copy()
    f = lambda a, w: (a, a, a.reshape(1, -1), a[::-1], a.T, w, pa.Diagonal(a))
    found = pa.tree.leaves(pa.vmap(f, in_axes=(0, None))(x, w))
    found += pa.tree.leaves(pa.vmap(lambda a, w: f(a, w)[:-1], in_axes=(1, None), out_axes=-1)(x, w))
    found += pa.tree.leaves(pa.vmap(lambda a: (w, w), out_axes=None)(x))
    assert len(found) == 15
    for i, y in enumerate(found):
        assert y.flags.writeable
        assert not any(np.shares_memory(y, other) for other in [x, w, *found[:i]])
        y[...] = 7.0
    np.testing.assert_array_equal(x, given[0])
    np.testing.assert_array_equal(w, given[1])


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


# --- axes out --------------------------------------------------------------------------------------------------


def test_out_axes_trees_and_none():
    f = lambda x, c: (x, {"m": np.outer(x, x), "same": c * 2})
    y, rest = pa.vmap(f, in_axes=(0, None), out_axes=(1, {"m": -1, "same": None}))(x23, np.ones(4))
    np.testing.assert_array_equal(y, x23.T)
    np.testing.assert_array_equal(rest["m"], loop(lambda a: np.outer(a, a), x23, axis=-1))
    np.testing.assert_array_equal(rest["same"], 2 * np.ones(4))


def test_results_that_no_lane_changed_are_repeated():
    found = pa.vmap(lambda x: (x, 2.5, 3, True, np.arange(2), None), out_axes=0)(np.zeros(3))
    assert [v.shape for v in found[:5]] == [(3,), (3,), (3,), (3,), (3, 2)]
    assert [v.dtype.kind for v in found[:5]] == ["f", "f", "i", "b", "i"]
    assert found[5] is None


def test_lanes_broadcast_as_they_would_alone(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal((2, 4, 3))
    np.testing.assert_allclose(pa.vmap(np.add)(x, y), loop(np.add, x, y))
    np.testing.assert_allclose(pa.vmap(np.matmul)(y, x), loop(np.matmul, y, x))


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


def test_sizes_of_two_leaves_of_one_argument():
    with pytest.raises(pa.ShapeError, match=r"argument 0\['b'\] has 3 lanes, but .*argument 0\['a'\] has 2"):
        pa.vmap(lambda p: p["a"])({"a": np.ones(2), "b": np.ones(3)})


# --- lanes that go separate ways -------------------------------------------------------------------------------


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def power_by_recursion(x, n):
    return 1.0 if n == 0 else x * power_by_recursion(x, n - 1)


def counted(x, n):
    for k in range(int(n)):
        x = x * 2 + k
    return x


def elif_chain(x):
    if x < 0:
        return -x
    elif x == 0:
        return x + 100
    elif 0 < x < 2:
        return x * 10
    return x


def early(x):
    for k in range(5):
        x = x * 2
        if x > 10:
            return x - k
    return x


def boolean_words(x):
    if not x > 0 or (x > 2 and not x > 3):
        return x * 2
    return x + 1 if (x > 1 and x != 2) else x


def excused(x):
    try:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)
    except ValueError:
        return x * 0 - 1


def by_truth(x):
    return x + 1 if x else x - 1


lanes = np.array([-3.0, 0.0, 1.0, 2.5, 3.5, 7.0, 0.0, 11.0])


@pytest.mark.parametrize("f", [elif_chain, early, boolean_words, excused, by_truth])
def test_branches(f):
    np.testing.assert_array_equal(pa.vmap(f)(lanes), loop(f, lanes))


@pytest.mark.parametrize("f", [elif_chain, early, boolean_words])
def test_branches_under_derivatives(f):
    x = lanes + 0.1
    slope = lambda v: (f(v + 1e-6) - f(v - 1e-6)) / 2e-6
    expected = np.array([slope(v) for v in x])
    np.testing.assert_allclose(pa.vmap(pa.grad(f))(x), expected, rtol=1e-6)
    np.testing.assert_allclose(pa.grad(lambda v: np.sum(pa.vmap(f)(v)))(x), expected, rtol=1e-6)
    np.testing.assert_allclose(pa.vmap(lambda v: pa.jvp(f, (v,), (1.0,))[1])(x), expected, rtol=1e-6)
    np.testing.assert_allclose(pa.jvp(pa.vmap(f), (x,), (np.ones_like(x),))[1], expected, rtol=1e-6)


def test_loops_and_recursion_over_lanes():
    n = np.arange(1, 12)
    np.testing.assert_array_equal(pa.vmap(collatz)(n), [collatz(int(k)) for k in n])
    x, n = np.array([2.0, 3.0, 0.5, 1.5]), np.array([3, 0, 2, 3])
    np.testing.assert_array_equal(pa.vmap(power_by_recursion)(x, n), x**n)
    np.testing.assert_array_equal(pa.vmap(counted)(x, n), [counted(a, b) for a, b in zip(x, n)])
    d = pa.vmap(pa.grad(power_by_recursion))(x, n)
    np.testing.assert_allclose(d, n * x ** (n - 1.0))


def test_lists_are_indexed_by_lanes():
    operations = [np.sin, np.cos, lambda x: x * x]
    which, x = np.array([2, 0, 1, 0]), np.arange(4.0)
    found = pa.vmap(lambda i, v: operations[i](v))(which, x)
    np.testing.assert_allclose(found, [operations[i](v) for i, v in zip(which, x)])
    np.testing.assert_array_equal(pa.vmap(lambda i: "abc".find("abc"[i]) * 1.0)(which[:3]), which[:3])


def test_splits_at_both_levels():
    f = lambda a, b: a + b if a > b else (a * b if a > 0 else b - a)
    a, b = np.array([-1.0, 0.5, 2.0]), np.array([-2.0, 1.0])
    found = pa.vmap(lambda u: pa.vmap(lambda v: f(u, v))(b))(a)
    np.testing.assert_array_equal(found, [[f(u, v) for v in b] for u in a])
    g = lambda u: np.sum(pa.vmap(lambda v: f(u, v))(b)) if u < 1 else u * 0
    np.testing.assert_array_equal(pa.vmap(g)(a), [sum(f(u, v) for v in b) if u < 1 else 0 for u in a])


def test_trees_from_branches():
    f = lambda x: {"a": (x, x * 2), "b": np.zeros(2)} if x > 0 else {"a": (-x, x * 0), "b": x * np.ones(2)}
    found = pa.vmap(f)(lanes)
    rows = [f(v) for v in lanes]
    np.testing.assert_array_equal(found["a"][0], [r["a"][0] for r in rows])
    np.testing.assert_array_equal(found["b"], np.stack([r["b"] for r in rows]))


def test_numbers_follow_the_other_branch():
    for x in (np.array([1.0, -1.0], np.float32), np.array([1.0, -1.0])):
        found = pa.vmap(lambda v: v if v > 0 else 0.0)(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, [1, 0])
    assert pa.vmap(lambda v: 1 if v > 0 else 2)(lanes).dtype.kind == "i"
    assert pa.vmap(lambda v: v if v > 0 else 0)(np.array([1.0, -1.0])).dtype == np.float64


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x if x > 0 else (x, x), "lanes return different structures: "),
        (lambda x: pa.Diagonal(x * np.ones(2)) if x > 0 else x * np.eye(2), "different structures: * and Diagonal([*]); every"),
        (lambda x: [pa.Diagonal(x[None]) if x > 0 else pa.Zeros((1, 1), float)], "[Zeros[((1, 1), dtype('float64'))]([])]"),
        (lambda x: x if x > 0 else np.ones(2) * x, "lanes return float64[2] and float64[] for the same result"),
        (lambda x: x if x > 0 else x.astype(np.float32), "float32[] and float64[]"),
        (lambda x: x.astype(int) if x > 0 else 0.5, "every path must give one shape and dtype"),
    ],
)
def test_paths_that_do_not_fit_together(f, text):
    with pytest.raises(pa.LaneSplitError) as found:
        pa.vmap(f)(lanes)
    assert text in str(found.value)


@given(st.integers(1, 20), st.integers(1, 6))
def test_number_of_runs(size, paths):
    """At most 2P - 1 runs for P paths."""
    values = np.arange(size) % paths
    runs = []

    def f(n):
        runs.append(1)
        for k in range(paths):
            if n == k:
                return n * 10 + k
        return n

    np.testing.assert_array_equal(pa.vmap(f)(values), values * 11)
    taken = len(set(values.tolist()))
    assert len(runs) <= 2 * taken - 1


def test_splitting_by_value_takes_one_run_a_path():
    runs = []
    pa.vmap(lambda n: runs.append(1) or counted(1.0, n))(np.arange(10) % 4)
    assert len(runs) == 5


def test_many_paths_warn():
    with pytest.warns(pa.PerformanceWarning, match="more than 64 different paths.*where, while_loop"):
        pa.vmap(lambda n: counted(1.0, n))(np.arange(70))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.vmap(lambda n: counted(1.0, n))(np.arange(60))


def test_user_code_cannot_swallow_the_split():
    def f(x):
        try:
            return x * 2 if x > 0 else x * 3
        except Exception:
            return x * 0

    np.testing.assert_array_equal(pa.vmap(f)(lanes), [f(v) for v in lanes])


def test_an_error_in_one_path_is_the_users():
    def f(x):
        if x > 10:
            raise KeyError("mine")
        return x

    with pytest.raises(KeyError, match="mine"):
        pa.vmap(f)(lanes)


def test_masks_split_the_lanes():
    x = np.array([[1.0, -1.0, 2.0], [3.0, -1.0, 4.0], [-1.0, -1.0, 5.0]])
    total = lambda v: np.sum(v[v > 0])
    np.testing.assert_array_equal(pa.vmap(total)(x), [total(v) for v in x])
    np.testing.assert_array_equal(pa.vmap(pa.grad(total))(x), (x > 0) * 1.0)


# --- reported bugs of other libraries --------------------------------------------------------------------------


def test_jacobian_of_the_norm_by_rows():  # F2
    x = np.array([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])
    norm = lambda r: np.sqrt(np.sum(r * r))
    for jacobian in (pa.jacrev, pa.jacfwd, pa.grad):
        np.testing.assert_allclose(pa.vmap(jacobian(norm))(x), [[0.6, 0.8, 0], [1, 0, 0]])


def test_counter_of_a_fixed_loop_stays_a_number():  # F6
    seen = []

    def f(x):
        for k in range(3):
            seen.append(type(k))
            x = x + k
        return x

    np.testing.assert_array_equal(pa.vmap(f)(np.arange(3)), np.arange(3) + 3)
    assert set(seen) == {int} and len(seen) == 3


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (3, 3), (4, 4)])
def test_trip_count_of_another_map(rows, columns):  # F8
    def add_ones(x, n):
        for _ in range(int(n)):
            x = x + 1
        return x

    x, n = np.arange(rows, dtype=float), np.arange(columns)
    table = pa.vmap(lambda a: pa.vmap(lambda b: add_ones(a, b))(n))(x)
    np.testing.assert_array_equal(table, x[:, None] + n)
    table = pa.vmap(lambda b: pa.vmap(lambda a: add_ones(a, b))(x), out_axes=1)(n)
    np.testing.assert_array_equal(table, x[:, None] + n)


def test_jacobian_of_stacked_elements():  # F12
    for jacobian in (pa.jacfwd, pa.jacrev):
        found = jacobian(lambda x: pa.array(list(x)))(np.ones((5, 1)))
        np.testing.assert_array_equal(found.reshape(5, 5), np.eye(5))


def test_gradient_of_what_the_lanes_share():  # D12
    y = np.ones((3, 2))

    def loss(z):
        return np.sum(pa.vmap(lambda row: np.log(np.exp(z) + np.exp(np.sum(row) + z)))(y))

    np.testing.assert_allclose(pa.grad(loss)(0.1), 3.0)
    assert pa.grad(loss)(0.1).shape == ()


def test_sizes_are_those_of_the_call():  # F10
    f = pa.vmap(lambda x: x * x.shape[0])
    assert f(np.ones((2, 3))).shape == (2, 3) and f(np.ones((3, 2)))[0, 0] == 2
