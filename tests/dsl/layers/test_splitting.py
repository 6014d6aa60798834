"""Lanes that disagree where Python asks: branches, loops, recursion, how many runs, and errors in one path."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa

pytestmark = pytest.mark.quick


def loop(f, *xs, axis=0):
    return np.stack([f(*lane) for lane in zip(*xs, strict=True)], axis)


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
