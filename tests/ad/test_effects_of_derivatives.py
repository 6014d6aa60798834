"""Callbacks and prints happen once per executed step, whatever is derived from the function that makes them."""

import re

import numpy as np
import pytest

import polyad as pa

X = np.array([1.0, 2.0, 3.0])
XS = np.array([X, -X, X, -X])
calls = []


@pytest.fixture(autouse=True)
def counted():
    calls.clear()


def seen(x):
    pa.io_callback(calls.append, None, x)
    return pa.sum(x**3)


def five_steps(x):
    return pa.sum(pa.scan(lambda c, _: (pa.sin(c) + 0.0 * seen(c), None), x, None, length=5)[0])


def five_turns(x):
    return pa.sum(pa.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, pa.sin(c[1]) + 0.0 * seen(c[1])), (0, x))[1])


def where_positive(x):
    return pa.cond(x[0] > 0, seen, pa.sum, x)


def if_positive(x):
    return seen(x) if x[0] > 0 else pa.sum(x)


DERIVED = {
    "value": lambda f: f(X),
    "grad": lambda f: pa.grad(f)(X),
    "value_and_grad": lambda f: pa.value_and_grad(f)(X),
    "jvp": lambda f: pa.jvp(f, (X,), (X,)),
    "vjp, pulled twice": lambda f: (lambda pull: [pull(1.0), pull(2.0)])(pa.vjp(f, X)[1]),
    "linearize, called twice": lambda f: (lambda f_jvp: [f_jvp(X), f_jvp(X)])(pa.linearize(f, X)[1]),
    "linear_transpose": lambda f: pa.linear_transpose(lambda x: (f(X), pa.sum(x))[1], X)(1.0),
    "hvp": lambda f: pa.hvp(f, X, X),
    "gvp, outer": lambda f: pa.gvp(f, pa.sin, X, X),
    "gvp, inner": lambda f: pa.gvp(pa.sin, f, X, X),
    "jacfwd": lambda f: pa.jacfwd(f)(X),
    "jacrev": lambda f: pa.jacrev(f)(X),
    "jacobian, wide": lambda f: pa.jacobian(f)(X),
    "jacobian, tall": lambda f: pa.jacobian(lambda x: f(x) * pa.concatenate([x, x]))(X),
    "hessian": lambda f: pa.hessian(f)(X),
    "jet": lambda f: pa.jet(f, (X,), ([X, X],)),
    "jit": lambda f: pa.jit(f)(X),
    "jit of grad": lambda f: pa.jit(pa.grad(f))(X),
    "grad of jit": lambda f: pa.grad(pa.jit(f))(X),
    "jit of linearize": lambda f: pa.jit(lambda x: pa.linearize(f, x)[1](x))(X),
    "grad of linearize": lambda f: pa.grad(lambda x: pa.linearize(f, x)[1](x))(X),
    "checkpoint": lambda f: pa.grad(pa.checkpoint(f))(X),
    "hvp of checkpoint": lambda f: pa.hvp(pa.checkpoint(f), X, X),
    "jit of grad of checkpoint": lambda f: pa.jit(pa.grad(pa.checkpoint(f)))(X),
    "aot": lambda f: pa.grad(pa.aot(f, lambda program, leaves: program))(X),
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize(("f", "times"), [(seen, 1), (five_steps, 5), (five_turns, 5), (where_positive, 1)])
def test_once_per_executed_step(name, f, times):
    DERIVED[name](f)
    assert len(calls) == times


@pytest.mark.parametrize("transform", [lambda f: f, pa.grad, lambda f: lambda x: pa.hvp(f, x, x), pa.jacfwd, pa.jacobian])
@pytest.mark.parametrize(("f", "times"), [(seen, 4), (five_steps, 20), (five_turns, 20), (where_positive, 2), (if_positive, 2)])
def test_once_per_lane_that_executes_the_step(transform, f, times):
    pa.vmap(transform(f))(XS)
    assert len(calls) == times


def test_linearize_in_lanes_that_part():
    pa.vmap(lambda x: pa.linearize(lambda x: (seen(x), if_positive(x))[1], x)[1](x))(XS)
    assert len(calls) == 6


def test_a_branch_that_is_not_taken_does_nothing():
    pa.hvp(where_positive, -X, X)
    assert not calls


@pytest.mark.parametrize("name", DERIVED)
def test_prints(name, capsys):
    def printed(x):
        pa.debug_print("x[0] = {:.1f}", x[0])
        return pa.sum(x**3)

    DERIVED[name](printed)
    assert re.fullmatch(r"x\[0\] = \d.\d\n", capsys.readouterr().out)


def test_results_of_callbacks_in_jacobian():
    """Of the run for the shapes, and of the one for the derivative, it is the first that calls."""

    def f(x):
        drawn = pa.io_callback(lambda v: calls.append(v) or 2.0 * v, pa.Aval((3,), float), pa.stop_gradient(x))
        return x * drawn

    np.testing.assert_allclose(pa.jacobian(f)(X), np.diag(2 * X))
    assert len(calls) == 1
    np.testing.assert_allclose(pa.vmap(pa.jacobian(f))(XS), [np.diag(2 * x) for x in XS])
    assert len(calls) == 5
