"""Gradients by structs, callables and containers: each in the structure of what it is the gradient of."""

import collections
import dataclasses

import numpy as np

import polyad as pa

close = np.testing.assert_allclose
X = np.array([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Affine:
    w: object
    b: object
    name: str = dataclasses.field(default="layer", metadata={"static": True})

    def __call__(self, x):
        return pa.sum(self.w * x) + self.b


Pair = collections.namedtuple("Pair", "first second")


class Wave:
    """A callable that is registered as a tree of its one array."""

    def __init__(self, a, k):
        self.a, self.k = a, k

    def __call__(self, x):
        return pa.sum(pa.sin(self.a * x))


pa.tree.register(Wave, lambda c: ([c.a], (c.k,)), lambda static, leaves: Wave(leaves[0], *static))


def test_by_a_callable_dataclass():
    f = Affine(X, 0.5)
    g, gx = pa.grad(lambda f, x: f(x) ** 2, (0, 1))(f, 2 * X)
    assert type(g) is Affine and g.name == "layer"
    y = f(2 * X)
    close(g.w, 2 * y * 2 * X)
    close(g.b, 2 * y)
    close(gx, 2 * y * X)
    close(pa.jvp(lambda f: f(X), (f,), (g,))[1], np.sum(g.w * X) + g.b)
    h = pa.hessian(lambda f: f(X) ** 2)(f)
    close(h.w.w, 2 * np.outer(X, X))
    lanes = pa.vmap(pa.grad(lambda f: f(X)))(Affine(np.ones((2, 3)), np.zeros(2)))
    close(lanes.w, [X, X])
    assert type(pa.make_ir(pa.grad(lambda f: f(X)))(f)(f)) is Affine


def test_by_a_registered_callable():
    g = pa.grad(lambda c: c(2.0))(Wave(X, "k"))
    assert type(g) is Wave and g.k == "k"
    close(g.a, 2 * np.cos(2 * X))


def test_by_containers_inside_of_structs():
    p = {"d": pa.Diagonal(X), "pair": Pair(Affine(X, 1.0), (Wave(X, 0), [2.0]))}
    f = lambda p: pa.sum(p["d"] @ X) + p["pair"].first(X) * p["pair"].second[1][0] + p["pair"].second[0](1.0)
    g = pa.grad(f)(p)
    assert type(g["d"]) is pa.Diagonal and type(g["pair"]) is Pair and type(g["pair"].first) is Affine
    close(g["d"].diag, X)
    close(g["pair"].first.w, 2 * X)
    close(g["pair"].second[0].a, np.cos(X))
    close(g["pair"].second[1][0], X @ X + 1)


def test_real_and_float32_stay_so():
    x32 = X.astype(np.float32)
    for f in (lambda x: pa.sum(x * 1j).imag, lambda x: pa.real(pa.sum(pa.exp(1j * x))), lambda x: pa.sum(x * np.float64(2.0))):
        g = pa.grad(f)(x32)
        assert g.dtype == np.float32
        assert pa.grad(lambda p, f=f: f(p["x"]))({"x": x32})["x"].dtype == np.float32
        assert pa.grad(lambda D, f=f: f(D.diag))(pa.Diagonal(x32)).diag.dtype == np.float32
