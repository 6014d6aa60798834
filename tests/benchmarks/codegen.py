"""Compiled programs on the CPU against JAX's jit of the same functions, in the same run."""

import jax
import jax.numpy as jnp
import numpy as np
from timing import ratio

import polyad as pa
from polyad.dsl import compile_program

jax.config.update("jax_enable_x64", True)


def ten_rounds(library):
    def f(x):
        for _ in range(10):
            x = 0.5 * x + 0.1 * library.sin(x)
        return x

    return f


def normalized(library, softmax):
    """Layer norm, then softmax, of rows."""

    def f(x):
        centred = x - library.mean(x, axis=-1, keepdims=True)
        spread = library.mean(centred * centred, axis=-1, keepdims=True)
        return softmax(centred / library.sqrt(spread + 1e-5), axis=-1)

    return f


def chain(library):
    def f(x):
        for _ in range(50):
            x = library.sin(x) * 0.9 + 0.1
        return library.sum(x)

    return f


def network(library):
    def f(params, x, y):
        for w, b in params:
            x = library.tanh(x @ w + b)
        return library.mean((x - y) ** 2)

    return f


def rosenbrock(library):
    def f(x):
        return library.sum((1.0 - x[:-1]) ** 2) + library.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2)

    return f


def logistic(library):
    def f(w, data, target):
        u = data @ w
        return library.mean(library.logaddexp(0.0, u) - target * u)

    return f


def layers(rng, *sizes):
    return [(rng.normal(size=(n, m)) / np.sqrt(n), np.zeros(m)) for n, m in zip(sizes, sizes[1:])]


def hvp(transform, grad):
    return lambda f: lambda x, v: transform(grad(f), (x,), (v,))[1]


def work():
    """Name, our function, JAX's, arguments, reach."""
    rng = np.random.default_rng(0)
    yield "x + 1, 10 elements", lambda x: x + 1, lambda x: x + 1, (np.linspace(0, 1, 10),), 0.4
    yield "ten rounds of 0.5x+0.1 sin x, 10⁶", ten_rounds(pa), ten_rounds(jnp), (rng.normal(size=(1000, 1000)),), 1 / 6
    ours, theirs = normalized(pa, pa.softmax), normalized(jnp, jax.nn.softmax)
    yield "layer norm + softmax, 2048×1024", ours, theirs, (rng.normal(size=(2048, 1024)),), 0.4
    yield "grad, 50 rounds sin(x)·0.9+0.1", pa.grad(chain(pa)), jax.grad(chain(jnp)), (np.linspace(0, 1, 10),), 0.25
    ours, theirs = pa.grad(network(pa)), jax.grad(network(jnp))
    big = layers(rng, 784, 256, 128, 10), rng.normal(size=(128, 784)), rng.normal(size=(128, 10))
    yield "grad, network 784-256-128-10, batch 128", ours, theirs, big, 1.0
    small = layers(rng, 16, 32, 32, 4), rng.normal(size=(16, 16)), rng.normal(size=(16, 4))
    yield "grad, network 16-32-32-4, batch 16", ours, theirs, small, 0.5
    ours, theirs = hvp(pa.jvp, pa.grad)(rosenbrock(pa)), hvp(jax.jvp, jax.grad)(rosenbrock(jnp))
    yield "Hessian times vector, Rosenbrock n = 1000", ours, theirs, (rng.normal(size=1000), rng.normal(size=1000)), 0.5
    data = rng.normal(size=50) * 0.1, rng.normal(size=(200, 50)), rng.integers(0, 2, 200) * 1.0
    yield "Hessian, logistic loss d = 50, n = 200", pa.hessian(logistic(pa)), jax.hessian(logistic(jnp)), data, 1.0


def compared(ours, theirs, args):
    """(our time, JAX's time) in µs, results equal."""
    run = compile_program(pa.make_ir(ours)(*args), pa.devices.Device("cpu"))
    leaves = pa.tree.leaves(args)
    compiled, given = jax.jit(theirs), jax.tree.map(jnp.asarray, args)
    for a, b in zip(run(*leaves), jax.tree.leaves(compiled(*given)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    return ratio(lambda: run(*leaves), lambda: jax.block_until_ready(compiled(*given)), repeat=15)


def rows():
    for name, ours, theirs, args, reach in work():
        yield name, "jax.jit", compared(ours, theirs, args), reach
