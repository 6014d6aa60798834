"""Memory of arguments that are given away: results take it, and nothing is corrupted."""

import tracemalloc

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def peak(f, *args):
    """(the most memory taken during a call, in arrays like the first argument, result)."""
    tracemalloc.start()
    y = f(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / args[0].nbytes, y


def test_donated_arguments():
    n = 200_000
    f = lambda p, g: p - 0.1 * pa.sin(g)
    plain, giving = pa.jit(f), pa.jit(f, donate_argnums=0)
    new = lambda: (np.arange(n) * 1.0, np.ones(n))
    expected = f(*new())
    for g in (plain, giving):
        close(g(*new()), expected, rtol=1e-14)
    without, y = peak(plain, *new())
    close(y, expected, rtol=1e-14)
    p, g = new()
    with_, y = peak(giving, p, g)
    close(y, expected, rtol=1e-14)
    same(g, np.ones(n))
    if pa.jit.source(giving):  # there is a compiler
        assert without > 0.9 and with_ < 0.1 and y is p
    named = pa.jit(f, donate_argnames="p")
    close(named(g=np.ones(n), p=new()[0]), expected, rtol=1e-14)


@pytest.mark.parametrize("f", [
    lambda x, y: x * 2 + y, lambda x, y: (x + 1, x), lambda x, y: (x + 1)[::-1] * 1.0, lambda x, y: x + x[0],
    lambda x, y: (x + y, pa.sum(x)), lambda x, y: (x * y, x + y), lambda x, y: pa.cumsum(x), lambda x, y: x[1:] * y[:-1],
    lambda x, y: x if pa.sum(x) > 0 else x + y, lambda x, y: pa.outer(x, y) @ x,
    lambda x, y: x - 0.1 * pa.grad(lambda x: pa.sum(x * y))(x),
])  # fmt: skip
def test_donation_corrupts_nothing(f):
    g = pa.jit(f, donate_argnums=0)
    for make in (lambda: x3.copy(), lambda: np.stack([x3, x3]).T[:, 0], lambda: np.concatenate([x3, x3])[:3]):
        y = x3 * 2
        for a, b in zip(pa.tree.leaves(g(make(), y)), pa.tree.leaves(f(make(), y)), strict=True):
            close(a, b, rtol=1e-14)
        same(y, x3 * 2)
        shared = make()
        for a, b in zip(pa.tree.leaves(g(shared, shared)), pa.tree.leaves(f(make(), make())), strict=True):
            close(a, b, rtol=1e-14)
        same(shared, x3)
