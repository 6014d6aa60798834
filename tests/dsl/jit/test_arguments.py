"""The arguments of jitted functions: their kinds, and those that are static."""

import functools

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def traces(f):
    return sum(tree.traces for tree in f.jitted.trees)


def test_kinds_of_arguments():
    def f(a, b=2.0, *more, c, d=(1.0, 2.0), **others):
        return a * b + sum(more) + c["u"] * d[0] + others.get("e", 0.0)

    g = pa.jit(f)
    for args, kwargs in [
        ((x3,), {"c": {"u": x3}}),
        ((x3, 3.0, x3), {"c": {"u": x3}, "e": x3}),
        ((x3,), {"c": {"u": x3}, "d": (2.0, 0.0)}),
    ]:
        for _ in range(3):
            same(g(*args, **kwargs), f(*args, **kwargs))
    assert len(g.jitted.trees) == 3


def test_static_arguments():
    @functools.partial(pa.jit, static_argnums=1, static_argnames="mode")
    def f(x, n, mode="up", scale=1.0):
        return x**n * scale if mode == "up" else x / n

    same(f(x3, 2), x3**2)
    same(f(x3, 2, scale=3.0), x3**2 * 3)
    same(f(x3, n=2), x3**2)
    same(f(x3, 3, "down"), x3 / 3)
    same(f(x3, 3, mode="down"), x3 / 3)
    count = traces(f)
    same(f(-x3, 2), x3**2)
    assert traces(f) == count
    zeros = pa.jit(lambda x, s: x / s, static_argnums=(-1,))
    with np.errstate(divide="ignore"):
        assert (zeros(np.float64(1.0), 0.0), zeros(np.float64(1.0), -0.0)) == (np.inf, -np.inf)
    for options, text in [({"static_argnums": 4}, "static_argnums 4 is no position among its 1 parameters"),
                          ({"static_argnames": "y"}, "static_argnames 'y' is none of its parameters"),
                          ({"static_argnums": 0, "donate_argnums": 0}, "argument 0 is static and donated")]:  # fmt: skip
        with pytest.raises(pa.StructureError, match=text):
            pa.jit(lambda x: x, **options)


def test_unhashable_static_arguments():
    class Point:
        def __eq__(self, other):
            return True

    text = r"jit\(<lambda>\): an argument of type \S*Point is static and cannot be hashed; give its class __hash__"
    for f in (pa.jit(lambda x, o: x), pa.jit(lambda x, o: x, static_argnums=1)):
        with pytest.raises(pa.StructureError, match=text):
            f(x3, Point())
    with pytest.raises(pa.StructureError, match="an argument of type set is static and cannot be hashed"):
        pa.jit(lambda x, o: x, static_argnums=1)(x3, {1, 2})
