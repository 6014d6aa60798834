"""Programs within operations that are written out: those over few elements, at both sides of each bound."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.program import compiled
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate


def parts(f, *args):
    """The compiled results of a function, compared with its operations, and its C."""
    program, leaves = optimized(pa.make_ir(f)(*args)), [np.asarray(x) for x in pa.tree.leaves(args)]
    run = compiled(program)
    for a, b in zip(run(*leaves), evaluate(program, leaves), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    return run.sources[0].partition("int run(")[2]


@pytest.mark.parametrize("n", [1, 3, 32])
def test_loops_over_few_numbers_run_without_memory(n):
    def step(i, s):
        v, total, flag = s
        w = pa.where(flag, pa.concatenate([v[1:], v[:1]]), pa.cumsum(v)) * 0.5
        w = pa.at(w, 0).add(pa.max(v) - w[-1])
        return pa.reshape(pa.reshape(w, (n, 1)), (n,)), total + pa.sum(w) * v[0], ~flag | (pa.argmax(v) == 1)

    c = parts(lambda v: pa.fori_loop(0, 7, step, (v, 0.0, False)), np.linspace(-1, 1, n))
    loop = c.partition("for (int64_t n1")[2].partition("\n}\n}")[0]
    assert "[" not in loop and "for" not in loop, loop


@pytest.mark.parametrize("n", [4, 5, 6, 33])
def test_sizes_at_both_sides(n):
    """Products, sums and functions, each with a bound of its own on what is written out."""

    def f(m, v):
        step = lambda s, x: (pa.tanh(m @ s) + x, (pa.sum(m * s), pa.exp(m)[0]))
        return pa.scan(step, v, np.linspace(0, 1, 4 * n).reshape(4, n))

    rng = np.random.default_rng(n)
    parts(f, rng.normal(size=(n, n)) / n, rng.normal(size=n))


def test_few_numbers_beside_large_arrays():
    """The few are variables, though the large array is not."""

    def step(i, s):
        x, a, b = s
        return x * 0.9 + a, a + b * 0.1, pa.sin(b) + x[0] * 1e-3

    c = parts(lambda x: pa.fori_loop(0, 5, step, (x, 0.5, 0.25)), np.linspace(0, 1, 100))
    assert len(set(re.findall(r"now\d_0", c))) == 3 and "memcpy" in c  # the counter among them
