"""A function is run again where it ran before: in lanes, in other transformations, with rules and tapes around."""

from functools import partial

import numpy as np

import polyad as pa

rng = np.random.default_rng(0)


x, w = rng.standard_normal(3), rng.standard_normal((3, 3))


close = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-13)


def split(v):
    z = v * 2 if v > 0 else pa.sin(v)
    return z * pa.psum(z * v, "i")


def test_lanes_that_disagree_and_collectives():
    v = np.array([-0.5, 0.2, 0.7, 1.5])
    total = lambda f: lambda v: pa.sum(pa.vmap(f, axis_name="i")(v))
    several = lambda f: total(lambda v: f(v) * 3 if v > 0.5 else f(v))
    for use in (total, several):
        close(pa.grad(use(pa.checkpoint(split)))(v), pa.grad(use(split))(v))
        close(pa.hessian(use(pa.checkpoint(split)))(v), pa.hessian(use(split))(v))


def test_custom_rules_inside_and_around():
    ten = pa.custom_jvp(pa.sin)
    ten.defjvp(lambda p, t: (ten(*p), 10 * pa.cos(p[0]) * t[0]))
    expected = pa.grad(lambda x: pa.sum(ten(ten(x))))(x)
    close(pa.grad(lambda x: pa.sum(pa.checkpoint(lambda v: ten(ten(v)))(x)))(x), expected)
    around = pa.custom_vjp(lambda x: x)
    slope = pa.grad(lambda v: pa.sum(pa.checkpoint(ten)(v)))
    around.defvjp(lambda x: (pa.checkpoint(ten)(x), x), lambda x, ct: (slope(x) * ct,))
    close(pa.grad(lambda x: pa.sum(around(x)))(x), 10 * np.cos(x))
    close(pa.jacfwd(pa.grad(lambda x: pa.sum(around(x))))(x), np.diag(-10 * np.sin(x)))


def test_transformations_inside():
    f = lambda v: pa.grad(lambda z: pa.sum(pa.sin(z) * v))(v) + pa.vmap(pa.sin)(v)
    close(pa.jacrev(pa.checkpoint(f))(x), pa.jacrev(f)(x))


def test_tapes_and_variables():
    f = lambda x: pa.sin(x) * x
    expected = pa.grad(lambda x: pa.sum(f(f(x))))(x)
    c = pa.checkpoint(f)
    with pa.Tape() as tape:
        v = tape.watch(x)
        total = pa.sum(c(c(v)))
    close(tape.gradient(total, v), expected)
    v = pa.variable(x)
    pa.sum(c(c(v))).backward()
    close(v.grad, expected)
    v = pa.variable(x)
    g = pa.checkpoint(lambda y: v * y)
    total = pa.sum(g(g(v)) + g(x))
    total.backward(retain=True)
    total.backward()
    close(v.grad, 2 * (3 * x**2 + x))
