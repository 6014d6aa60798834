"""Loops, choices and recursion in C, against the operations one by one."""

import importlib.util
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


# ---------------------------------------------------------------------- random programs
OPS = 15


def step(kind, state, w, m):
    """One small change of (number, vector, integer, boolean)."""
    s, v, k, b = state
    n = v.shape[0]
    half = s * 0.5
    if kind == 0:
        return pa.tanh(s + pa.sum(v) * 0.1), v, k, b
    if kind == 1:
        return s, pa.tanh(v * s + w), k, b
    if kind == 2:
        return s, v[::-1] * 0.9 + half, k, b
    if kind == 3 and n:
        return s, pa.at(v, k % n).set(half), k, b
    if kind == 4 and n:
        return v[k % n] * 0.5 + half, v, k + 2, b
    if kind == 5:
        return s, v, (k * 3 + 1) % 17, b
    if kind == 6:
        return s, v, k, s > 0.1234
    if kind == 7:
        return s, pa.where(v > half, v, pa.sin(v)), k, ~b
    if kind == 8:
        return pa.where(b, s, -half), v, k, b
    if kind == 9 and n:
        return s, pa.concatenate([v[1:], v[:1]]), k, b
    if kind == 10:
        return s, pa.tanh(m @ v), k, b
    if kind == 11:
        return s, pa.cumsum(v) * 0.1, k, b
    if kind == 12 and n:
        return pa.max(v) * 0.5, v, k + pa.argmax(v), b
    if kind == 13 and n:
        return s, pa.at(v, pa.stack([k % n, (k + 1) % n])).add(w[:1] * 0.3), k, b
    return half, v * 0.7, k + 1, pa.any(v > 0.3)


@st.composite
def nodes(draw, depth):
    """A tree of loops and choices, as nested tuples."""
    kind = draw(st.sampled_from(["ops", "ops", "seq", "cond", "switch", "scan", "fori", "while"])) if depth else "ops"
    if kind == "ops":
        return kind, draw(st.lists(st.integers(0, OPS - 1), min_size=1, max_size=3))
    count = {"seq": 2, "cond": 2, "switch": 3}.get(kind, 1)
    return kind, [draw(nodes(depth - 1)) for _ in range(count)], draw(st.integers(0, 4)), draw(st.booleans())


def run(node, state, w, m, rows):
    """A state after a tree. rows: outputs of loops are added there."""
    if node[0] == "ops":
        for kind in node[1]:
            state = step(kind, state, w, m)
        return state
    kind, inner, count, flag = node
    if kind == "seq":
        return run(inner[1], run(inner[0], state, w, m, rows), w, m, rows)
    if kind == "cond":
        on = state[3] if flag else state[2] % 2 == 0
        return pa.cond(on, lambda s: run(inner[0], s, w, m, []), lambda s: run(inner[1], s, w, m, []), state)
    if kind == "switch":
        return pa.switch(state[2] % 3, [lambda s, i=i: run(i, s, w, m, []) for i in inner], state)
    if kind == "fori":
        return pa.fori_loop(0, count, lambda i, s: run(inner[0], (s[0], s[1], s[2] + i, s[3]), w, m, []), state)
    if kind == "while":
        going = lambda c: (c[0] < count) & (c[1][2] < 1000)
        return pa.while_loop(going, lambda c: (c[0] + 1, run(inner[0], c[1], w, m, [])), (state[2] * 0, state))[1]
    n = w.shape[0]
    xs = np.linspace(-1, 1, count).astype(w.dtype), np.linspace(0, 1, count * n).reshape(count, n).astype(w.dtype)

    def body(s, x):
        new = run(inner[0], (s[0] + x[0], pa.tanh(s[1] - x[1]), s[2], s[3]), w, m, [])
        return new, (new[0], new[1] if flag else s[1], s[2])

    state, kept = pa.scan(body, state, xs, reverse=flag)
    rows.extend(kept)
    return state


@st.composite
def functions(draw):
    """(function of a number and two vectors, arguments)."""
    tree, n = draw(nodes(3)), draw(st.sampled_from([3, 3, 1, 0, 5, 70, 100]))
    dtype = draw(st.sampled_from(["d", "d", "d", "f"]))
    start, flag = draw(st.integers(0, 20)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = (rng.normal(size=(n, n)) / (n + 1)).astype(dtype)

    def f(s, v, w):
        rows = []
        state = (s, v, pa.sum(v > 5.0) + np.int64(start), (s > 5.0) | flag)
        return run(tree, state, w, m, rows), rows

    return f, (rng.normal(size=()).astype(dtype)[()], rng.normal(size=n).astype(dtype), rng.normal(size=n).astype(dtype))


SETTINGS = dict(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@settings(max_examples=15, **SETTINGS)
@given(functions())
def test_random_loops_and_choices(drawn):
    f, args = drawn
    compare(f, *args, whole=False)


@settings(max_examples=10, **SETTINGS)
@given(functions())
def test_gradients_of_random_loops_and_choices(drawn):
    f, args = drawn

    def loss(*xs):
        (s, v, _, _), rows = f(*xs)
        return s + pa.sum(v * v) + sum(pa.sum(r * r) for r in rows if r.dtype.kind == "f")

    compare(pa.grad(loss, (0, 1, 2)), *args, whole=False, rtol=1e-10, atol=1e-11)


# ---------------------------------------------------------------------- loops of few numbers and of arrays


# ---------------------------------------------------------------------- choices and recursion


@pa.jit
def total(n, x):
    return pa.cond(n <= 0, lambda: x, lambda: total(n - 1, x + n))


# ---------------------------------------------------------------------- what goes wrong
def test_an_index_out_of_range_is_the_error_of_the_operation():
    table = RNG.normal(size=10)
    f = lambda t, i: pa.scan(lambda c, k: (c + t[k], t[k]), 0.0, i)
    run = compare(f, table, np.array([1, -10, 9]))
    with pytest.raises(IndexError, match="out of"):
        run(table, np.array([1, 10, 9]))
    walk = compare(lambda t, i: pa.while_loop(lambda s: t[s] > -5.0, lambda s: s + 1, i), np.append(table, -9.0), np.int64(0))
    with pytest.raises(IndexError, match="out of"):
        walk(np.append(table, 9.0), np.int64(0))


def test_values_that_are_no_numbers():
    f = lambda xs: pa.scan(lambda c, x: (pa.maximum(c, x), pa.where(c > x, c, x)), -np.inf, xs)
    compare(f, np.array([1.0, np.nan, 3.0, -0.0, np.inf]))
    compare(lambda x: pa.while_loop(lambda c: c > 0, lambda c: c - 1, x), np.nan)


def test_threads():
    run = compare(pa.grad(lambda x: pa.while_loop(lambda x: x > 1, lambda x: pa.sin(x) * x / 2, x)), 9.0)
    results, xs = {}, np.linspace(0.5, 30, 8)

    def work(k):
        results[k] = [float(run(np.asarray(xs[k]))[0]) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(xs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [results[k] for k in range(len(xs))] == [[float(run(np.asarray(x))[0])] * 50 for x in xs]


@pytest.mark.parametrize("dtype", ["f", "d", "l"])
@pytest.mark.parametrize("k", [0, 1, 3, 50])
def test_products_and_sums_keep_signs(k, dtype):
    """Sums begin with their first element: -0.0 is not 0.0; of nothing they are 0."""
    a, b = -np.zeros((2, k)).astype(dtype), np.ones((k, 2)).astype(dtype)
    f = lambda c, rows: pa.scan(lambda c, x: (c, (x @ b, pa.cumsum(x[0] * 1))), c, rows)[1]
    products, sums = pa.jit(f)(1.0, np.stack([a, a]))
    for found in (*sums, pa.jit(pa.cumsum)(a[0])):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(np.cumsum(a[0])))
    if k < 50:  # beyond, they begin with 0
        np.testing.assert_array_equal(np.signbit(products), np.full((2, 2, 2), k > 0 and dtype in "fd"))
