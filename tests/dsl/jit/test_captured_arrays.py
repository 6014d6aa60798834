"""Arrays in globals that are others at each step are inputs; constants stay constants."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, 2.0, 3.0])


def lap(a):
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def gray_scott():
    uvv = U * V * V
    return U + 0.16 * lap(U) - uvv + 0.06 * (1 - U), V + 0.08 * lap(V) + uvv - 0.12 * V


def life():
    n = Z[:-2, :-2] + Z[:-2, 1:-1] + Z[:-2, 2:] + Z[1:-1, :-2] + Z[1:-1, 2:] + Z[2:, :-2] + Z[2:, 1:-1] + Z[2:, 2:]
    born, stays = (n == 3) & (Z[1:-1, 1:-1] == 0), ((n == 2) | (n == 3)) & (Z[1:-1, 1:-1] == 1)
    result = np.zeros_like(Z)
    result[1:-1, 1:-1][born | stays] = 1
    return result


def test_grids_in_globals_that_are_others_at_each_step():
    global U, V, Z
    rng = np.random.default_rng(0)
    f, g = pa.jit(gray_scott), pa.jit(life)
    U, V, Z = rng.random((20, 20)), rng.random((20, 20)), (rng.random((20, 20)) < 0.3).astype(int)
    for _ in range(20):
        for found, expected in zip(f(), gray_scott(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        same(g(), life())
        (U, V), Z = gray_scott(), life()
    assert [tree.traces for tree in (*f.jitted.trees, *g.jitted.trees)] == [1, 1]  # that of a copy, after the first change


def test_constants_in_globals_stay_constants():
    """A table that never changes is compared with what it was, and not a step of the program."""
    global U
    U = np.arange(9.0).reshape(3, 3)
    f = pa.jit(lambda x: x @ np.linalg.inv(U + np.eye(3)))
    for _ in range(3):
        np.testing.assert_allclose(f(x3), f.__wrapped__(x3))
    assert "inv" not in str(pa.jit.programs(f)[0])
    U[0, 0] = 5.0
    np.testing.assert_allclose(f(x3), f.__wrapped__(x3))


def test_large_arrays_that_are_compared_are_named():
    w = np.ones(2_200_000)
    f = pa.jit(lambda x: x * w.max())
    with pytest.warns(
        pa.PerformanceWarning, match=r"is compiled: it compares w, 16 MB, with a copy at each call, .*an argument"
    ):
        same(f(x3), x3)
    w[-1] = 3.0
    same(f(x3), 3 * x3)
    small = pa.jit(lambda x: x * w[:3])  # only met values of the trace
    same(small(x3), x3)
