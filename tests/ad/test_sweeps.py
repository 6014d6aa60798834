"""Passes of either mode: pullbacks that are kept and used elsewhere, and what an ended pass leaves behind."""

import gc
import weakref

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


# Each takes a function of one vector with a number as result and returns another such function, so that they chain. The
# second entry says the same in NumPy: by finite differences or a loop over plain calls.
V, W, STEP = np.array([0.3, -0.7, 1.1]), np.array([1.0, 0.5, -0.25]), 1e-4


X = np.array([0.4, 0.9, -0.6])


def test_pullback_many_times_and_later():
    y, pullback = pa.vjp(lambda x, w: pa.sin(x) * w, X, V)
    for ct in (np.ones(3), W, np.zeros(3)):
        dx, dw = pullback(ct)
        close(dx, ct * np.cos(X) * V)
        close(dw, ct * np.sin(X))
    close(pa.grad(lambda c: pa.sum(pullback(c)[0]))(W), np.cos(X) * V)
    close(pa.jvp(lambda c: pullback(c)[1], (W,), (V,))[1], V * np.sin(X))
    close(pa.vmap(lambda c: pullback(c)[0])(np.eye(3)), np.diag(np.cos(X) * V))
    close(pa.make_ir(lambda c: pullback(c)[0])(W)(W), W * np.cos(X) * V)


def test_pullback_made_inside():
    def f(x):
        y, pullback = pa.vjp(lambda v: v**3, x)
        return pa.sum(pullback(y)[0] + pullback(2.0 * y)[0])  # 9 x⁵

    close(pa.grad(f)(X), 45 * X**4)
    close(pa.jvp(f, (X,), (V,))[1], 45 * X**4 @ V)
    close(pa.vmap(f)(np.stack([X, 2 * X])), [np.sum(9 * X**5), np.sum(9 * (2 * X) ** 5)])


def test_pullback_used_after_an_outer_level_ended():
    kept = []

    def outer(x):
        kept.append(pa.vjp(lambda v: v * x, x)[1])
        return x

    pa.grad(outer)(2.0)
    with pytest.raises(pa.LeakedLayerError, match="after that transformation ended"):
        kept[0](1.0)


def test_result_of_an_ended_level_returned():
    kept = []
    pa.grad(lambda x: pa.grad(lambda y: kept.append(y * x) or y)(x) * x)(1.0)
    for t in (pa.grad, pa.derivative):
        with pytest.raises(pa.LeakedLayerError):
            t(lambda x: kept[0])(1.0)


@pytest.mark.parametrize(
    "transform",
    [pa.grad, pa.hessian, lambda f: lambda x: pa.jvp(f, (x,), (x,)), lambda f: lambda x: pa.vjp(f, x)[1](1.0),
     lambda f: pa.grad(lambda x: pa.sum(pa.grad(f)(x)))],
)  # fmt: skip
def test_nothing_waits_for_the_garbage_collector(transform):
    """The record of a derivative holds large arrays; they go with the last reference to it."""

    seen = []

    def f(x):
        h = pa.sin(x)
        below = h
        while type(below) is not np.ndarray:
            below = below.below
        seen.append(weakref.ref(below))
        return pa.sum(h * h)

    gc.collect()
    gc.disable()
    try:
        transform(f)(X)
        assert seen and all(ref() is None for ref in seen)
    finally:
        gc.enable()
