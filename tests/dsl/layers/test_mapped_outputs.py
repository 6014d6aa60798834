"""The results of a mapped function: axes out, repeated ones, and those of lanes that went different ways."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


x23 = np.arange(6.0).reshape(2, 3)


def loop(f, *xs, axis=0):
    return np.stack([f(*lane) for lane in zip(*xs, strict=True)], axis)


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


lanes = np.array([-3.0, 0.0, 1.0, 2.5, 3.5, 7.0, 0.0, 11.0])


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
