"""What a call of a jitted function costs, and first calls, against JAX's jit in the same run."""

import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from functions import chain, network
from timing import ratio

import polyad as pa

jax.config.update("jax_enable_x64", True)


def branching(x):
    return x * 2 if x[0] > 0.5 else -x


class Scaled:
    def __init__(self):
        self.w, self.k = np.ones(10), 2.0

    @pa.jit
    def __call__(self, x):
        return self.w * x * self.k


def work():
    """Name, our call, JAX's call, reach."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 10)
    xj, ready = jnp.asarray(x), jax.block_until_ready
    sizes = (16, 32, 32, 4)
    params = [(rng.normal(size=(n, m)), np.zeros(m)) for n, m in zip(sizes, sizes[1:])]
    data = params, rng.normal(size=(16, 16)), rng.normal(size=(16, 4))
    given = jax.tree.map(jnp.asarray, data)
    pairs = [
        ("call, x + 1, 10 elements", pa.jit(lambda x: x + 1), jax.jit(lambda x: x + 1), (x,), (xj,), 0.4),
        ("call, network, 6 arrays in a tree", pa.jit(network(pa)), jax.jit(network(jnp)), data, given, 0.5),
        ("call, grad of the network", pa.jit(pa.grad(network(pa))), jax.jit(jax.grad(network(jnp))), data, given, 0.5),
        ("call, grad(jit(network))", pa.grad(pa.jit(network(pa))), jax.grad(jax.jit(network(jnp))), data, given, 0.5),
        ("call, grad(jit(50 rounds))", pa.grad(pa.jit(chain(pa))), jax.grad(jax.jit(chain(jnp))), (x,), (xj,), 0.5),
        ("call, Python's if against lax.cond", pa.jit(branching),
         jax.jit(lambda x: jax.lax.cond(x[0] > 0.5, lambda x: x * 2, lambda x: -x, x)), (x,), (xj,), 1.0),
        ("call, method with state", Scaled(), jax.jit(lambda x: jnp.ones(10) * x * 2.0), (x,), (xj,), 0.5),
        ("call, an argument by name", lambda f: f, None, (x,), (xj,), 0.5),
    ]  # fmt: skip
    for name, ours, theirs, args, args_j, reach in pairs:
        if theirs is None:
            f, g = pa.jit(lambda x, *, s: x * s), jax.jit(lambda x, *, s: x * s)
            yield name, lambda f=f: f(x, s=2.0), lambda g=g: ready(g(xj, s=2.0)), reach
            continue
        for _ in range(3):
            a, b = jax.tree.leaves(ours(*args)), jax.tree.leaves(theirs(*args_j))
            for u, v in zip(a, b, strict=True):
                np.testing.assert_allclose(u, v, rtol=1e-9, atol=1e-11)
        yield name, lambda f=ours, xs=args: f(*xs), lambda f=theirs, xs=args_j: ready(f(*xs)), reach


def long_loop(x):
    """500 steps of Python's `while`, whose number depends on the data."""
    steps = 0
    while pa.sum(x) > 1.0:
        x, steps = pa.sin(x) * 0.0 + x * 0.999, steps + 1
    return x, steps


def first_call():
    """(time of a first call, time of plain Python) in µs of processor time: a machine in use would stop the longer one."""
    x, best = np.full(10, 0.1 * 0.999**-500), [float("inf")] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            for k, f in enumerate((lambda x: pa.jit(long_loop)(x), long_loop)):
                start = time.process_time()
                f(x)
                best[k] = min(best[k], time.process_time() - start)
    return best[0] * 1e6, best[1] * 1e6


def rows():
    for name, ours, theirs, reach in work():
        yield name, "jax.jit", ratio(ours, theirs), reach
    yield "first call, while of 500 steps", "plain Python", first_call(), 3.0


if __name__ == "__main__":
    for work_done, peer, (a, b), most in rows():
        print(f"{work_done:40s} {a:10.2f} {peer:>14s} {b:10.2f} {a / b:7.2f} ≤ {most:.2g}")
