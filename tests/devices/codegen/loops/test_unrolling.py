"""Loops written out, and arrays that become variables."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.loops import Loop, around
from polyad.devices.codegen.loops.unrolling import unrolled
from polyad.devices.codegen.program import compiled
from polyad.devices.codegen.text.expressions import Access, Name, c
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import Array, Assign, If, Local, count
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate

A = Buffer("a", None, (6,))
X = Buffer("x", None, (6,))


def at(buffer, const=0, **terms):
    return Access(buffer, Index(const, terms.items()))


def text(statements):
    return Printer().text(statements).replace("\n", " ")


def test_a_loop_and_its_array():
    """Rounds go on side by side, each with variables of its own; the counter is a number in places and in expressions."""
    body = [Local("double", "v", at(X, 1, i=2)), Assign(at(A, i=1), c("{} * {}", Name("v"), Name("i")))]
    made = unrolled([Array("double", "a", 2), *around([Loop("i", 2, False)], body, unroll=True)])
    inside = "double v_0 = x[1]; double v_1 = x[3]; a_0 = v_0 * 0; a_1 = v_1 * 1;"
    assert text(made) == f"double a_0; double a_1; {{ {inside} }}"


def test_places_that_are_variables_of_a_round():
    body = [Local("int64_t", "p", at(X, i=1)), Assign(at(A, p=2, i=1), "1")]
    made = unrolled(around([Loop("i", 2, False)], body, unroll=True))
    assert text(made) == "{ int64_t p_0 = x[0]; int64_t p_1 = x[1]; a[2 * p_0] = 1; a[2 * p_1 + 1] = 1; }"


def test_rounds_that_build_on_each_other():
    """What sets a variable, or may fail, goes on round by round."""
    body = [Local("double", "v", at(X, i=1)), Assign(Name("t"), c("{} + {}", Name("t"), Name("v")))]
    made = unrolled(around([Loop("i", 2, False)], body, unroll=True))
    assert text(made) == "{ double v = x[0]; t = t + v; } { double v = x[1]; t = t + v; }"
    body = [Local("double", "v", at(X, i=1)), If(c("{} > 0", Name("v")), [Assign(at(A, i=1), Name("v"))])]
    made = unrolled(around([Loop("i", 1, False)], body, unroll=True))
    assert text(made) == "{ double v = x[0]; if (v > 0) a[0] = v; }"


def test_loops_within_loops():
    body = [Assign(at(A, i=3, j=1), at(X, j=1))]
    loops = around([Loop("i", 2, False), Loop("j", 3, False)], body, unroll=True)
    made = unrolled([Array("double", "a", 6), *loops])
    assert text(made[6:]) == " ".join(f"a_{3 * i + j} = x[{j}];" for i in range(2) for j in range(3))
    assert text(unrolled(around([Loop("i", 0, False)], body, unroll=True))) == ""


def test_other_loops_stay():
    loop = count("i", 0, 2, [Assign(at(A, i=1), "1")])
    assert text(unrolled([Array("double", "a", 2), loop])) == text([Array("double", "a", 2), loop])


# ---------------------------------------------------------------------- in programs
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
