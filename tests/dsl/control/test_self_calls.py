"""Programs that call themselves: as deep as memory allows, with derivatives and lanes, and what is not used left out."""

import math

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.control.self_calls import deep, quiet, run_deep, with_used
from polyad.dsl.control.subprograms import subprogram

close = np.testing.assert_allclose
factorial = pa.jit(lambda r, x: pa.cond(x <= 1, lambda: r, lambda: factorial(r * x, x - 1)))
product = pa.jit(lambda n: pa.cond(n <= 1, lambda: 1.0, lambda: n * product(n - 1)))


def slope(x):
    """The derivative of x (x - 1) (x - 2) … down to 2."""
    factors = np.arange(x, 1, -1)
    return math.prod(factors) * sum(1 / f for f in factors)


@pytest.mark.parametrize("f", [lambda x: factorial(1.0, x), product])
def test_derivatives(f):
    for x in (2.0, 3.0, 5.0):
        for g in (pa.grad(f), pa.jit(pa.grad(f)), pa.grad(pa.jit(f)), pa.jacfwd(f), pa.jit(pa.jacfwd(f)), pa.jit(pa.jacrev(f))):
            close(g(x), slope(x), rtol=1e-14)
        close(pa.jvp(f, (x,), (2.0,))[1], 2 * slope(x), rtol=1e-14)
    close(pa.hessian(f)(4.0), 18.0)
    close(pa.jit(pa.hessian(f))(4.0), 18.0)
    close(pa.grad(pa.grad(pa.grad(f)))(4.0), 6.0)


def test_lanes_that_disagree():
    xs, ones = np.array([1.0, 3.0, 5.0, 2.0]), np.ones(4)
    for f in (pa.vmap(factorial), pa.jit(pa.vmap(factorial)), pa.vmap(pa.jit(factorial))):
        close(f(ones, xs), [1, 6, 120, 2])
    for f in (pa.vmap(pa.grad(factorial, 1)), pa.jit(pa.vmap(pa.grad(factorial, 1)))):
        close(f(ones, xs), [0, 5, 154, 1])
    close(pa.grad(lambda xs: pa.sum(pa.vmap(factorial)(ones, xs)))(xs), [0, 5, 154, 1])


def test_deep():
    """Far deeper than Python's own recursion."""
    f = pa.jit(lambda r, n: pa.cond(n <= 0, lambda: r, lambda: f(r + pa.sin(n) * 1e-3, n - 1)))
    close(f(0.0, 2000.0), np.sum(np.sin(np.arange(1, 2001))) * 1e-3, rtol=1e-9)
    assert float(pa.grad(f)(0.0, 2000.0)) == float(pa.jit(pa.grad(f))(0.0, 2000.0)) == 1.0


def test_effects_happen_once():
    seen = []
    f = pa.jit(lambda x: (pa.io_callback(seen.append, None, x), pa.cond(x <= 1, lambda: x, lambda: f(x - 1) * 2))[1])
    for g in (f, pa.grad(f), pa.jit(pa.grad(f)), pa.jit(f)):
        for x in (4.0, 3.0, 4.0):
            seen.clear()
            g(x)
            assert [float(v) for v in seen] == list(np.arange(x, 0, -1))


def test_which_programs_are_deep():
    plain = pa.make_ir(lambda x: pa.cond(x > 1, lambda: x, lambda: -x))(1.0)
    assert not deep(plain)
    within = pa.make_ir(lambda x: pa.cond(x > 1, lambda: factorial(1.0, x), lambda: -x))(2.0)
    assert deep(within)  # it runs one that calls itself
    f = pa.make_ir(lambda x: factorial(1.0, x))(3.0)
    assert deep(f) and float(run_deep(f, [5.0])[0]) == 120.0


def test_results_that_are_not_used_are_left_out():
    program, unused = subprogram("three", lambda x: [pa.sin(x), pa.cos(x), x], [1.0])
    assert [e.op.__name__ for e in with_used(program, [True, False, True]).equations] == ["sin"]
    assert with_used(program, [False, False, True]).equations == []
    kept, unused = subprogram("noted", lambda x: [(pa.debug_print("{}", x), pa.sin(x))[1], x], [1.0])
    assert [e.op.__name__ for e in with_used(kept, [False, True]).equations] == ["effect_call"]


def test_a_second_run_for_what_is_computed_is_silent():
    def f(x):
        pa.debug_print("{}", x)
        return pa.cond(x > 0, lambda: (pa.debug_print("{}", x), x * 2)[1], lambda: x)

    program = pa.make_ir(f)(1.0)
    silent = quiet(program.equations)
    assert program.acts and len(silent) == len(program.equations) - 1
    assert not any(e.op.card.acts(e.params) for e in silent)
