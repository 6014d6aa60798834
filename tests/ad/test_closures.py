"""Gradients by closures: in the structure of the function that captures the arrays, and what is no closure."""

import functools

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


X = np.array([1.0, 2.0, 3.0])


def layer(w, b, name="layer"):
    def apply(x, scale=1.0):
        return scale * (pa.sum(w * x) + b["b"]) if name == "layer" else None

    return apply


def test_by_a_closure():
    f = pa.closure(layer(X, {"b": 0.5}))
    assert f.names == ("b", "w") and "apply" in repr(f)
    close(f(X), 14.5)
    g = pa.grad(lambda f, x: f(x, scale=3.0), (0, 1))(f, 2 * X)
    assert type(g[0]) is type(f)
    close(g[0].w, 6 * X)
    close(g[0].b["b"], 3)
    close(g[1], 3 * X)
    step = pa.tree.map(lambda v, dv: v - 0.1 * dv, f, g[0])
    close(step(X), np.sum(0.4 * X * X) + 0.2)
    close(pa.jvp(lambda f: f(X), (f,), (f,))[1], 14.5)
    close(pa.hvp(lambda f: f(X) ** 2, f, f).w, 2 * 14.5 * X)
    close(pa.grad(lambda w: pa.grad(lambda f: f(X) ** 2)(pa.closure(layer(w, {"b": 0.0}))).b["b"])(X), 2 * X)


def test_by_a_partial():
    f = pa.closure(functools.partial(lambda a, b, c: pa.sum(a * b) + c, X, c=2.0))
    g = pa.grad(lambda f: f(2.0))(f)
    close(g.arg0, 2)
    close(g.c, 1)
    close(f(2.0, c=0.0), 12)


def test_what_is_no_closure():
    with pytest.raises(pa.MethodError, match=r"closure: int is no Python function.*dataclass with __call__"):
        pa.closure(3)
    with pytest.raises(AttributeError, match="no captured variable 'q'"):
        pa.closure(layer(X, {"b": 1.0})).q
    with pytest.raises(pa.DTypeError, match=r"argument 0 is function, .*polyad\.closure\(f\) for the arrays that it captures"):
        pa.grad(lambda f: f(X))(layer(X, {"b": 1.0}))
