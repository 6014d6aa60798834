"""The call of a program as one step: results, derivatives, lanes, and what is read and kept for the way back."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.control.self_calls import with_used
from polyad.dsl.control.subprograms import subprogram
from polyad.dsl.ir.programs import evaluate

close = np.testing.assert_allclose
call = operations["call"]
X, Y = np.array([0.3, 1.2, -0.5]), np.array([1.5, 0.4, 0.7])


def body(x, y):
    return [pa.sin(x) * y, pa.cos(y), pa.argmax(x)]


PROGRAM, unused = subprogram("body", body, [X, Y])


def called(x, y):
    return call(x, y, program=PROGRAM)


FORMS = {
    "gradient": lambda f: pa.grad(lambda x, y: pa.sum(f(x, y)[0] ** 2 * f(x, y)[1]), (0, 1))(X, Y),
    "by one": lambda f: pa.grad(lambda y: pa.sum(f(X, y)[1] ** 2))(Y),
    "forward": lambda f: pa.jvp(lambda x, y: list(f(x, y)[:2]), (X, Y), (Y, X)),
    "second": lambda f: pa.hessian(lambda x: pa.sum(f(x, Y)[0] ** 2))(X),
    "lanes": lambda f: pa.vmap(lambda x: list(f(x, Y)))(np.stack([X, X + 1])),
    "lanes of one": lambda f: pa.vmap(lambda y: f(X, y)[2])(np.stack([Y, Y])),
    "slopes in lanes": lambda f: pa.vmap(pa.grad(lambda x: pa.sum(f(x, Y)[0])))(np.stack([X, X + 1])),
    "series": lambda f: pa.derivatives(lambda t: f(t * X, Y)[0], 3)(0.5),
    "program": lambda f: pa.make_ir(lambda x: list(f(x, Y)))(X)(2 * X),
}


@pytest.mark.parametrize("form", FORMS)
def test_as_without_the_call(form):
    found, right = FORMS[form](called), FORMS[form](body)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        close(a, b, rtol=1e-12, atol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_arguments_that_do_not_fit_are_named():
    with pytest.raises(pa.ShapeError, match=r"call: argument 1 of the program body is float64\[3\], not float64\[2\]"):
        pa.make_ir(lambda x: called(x, Y[:2]))(X)
    with pytest.raises(pa.ShapeError, match="call: the program body takes 2 arguments, not 1"):
        pa.make_ir(lambda x: call(x, program=PROGRAM))(X)


def test_results_that_nobody_uses_are_not_computed():
    outer, read = subprogram("outer", lambda x: [called(x, Y)[1], x], [X])
    (step,) = with_used(outer, [True, False]).equations
    assert [e.op.__name__ for e in step.params["program"].equations] == ["cos"]
    close(evaluate(with_used(outer, [True, False]), [*read, X])[0], np.cos(Y))


def test_as_source_it_is_a_function():
    program, space = pa.make_ir(lambda x, y: called(x, y)[0])(X, Y), {}
    assert program.code.count("def ") == 2
    exec(program.code, space)
    close(space["program"](X, Y), np.sin(X) * Y)


def test_the_way_back_reads_arguments_and_is_not_given_them_twice():
    """Of what the way back needs, the way forward gives what it has computed, and not what it was given."""
    program = pa.make_ir(lambda x, y: (lambda z, pull: (z, pull(X)))(*pa.vjp(lambda *a: called(*a)[0], x, y)))(X, Y)
    forward, backward = [e for e in program.equations if e.op is call]
    assert not set(forward.outputs) & set(program.inputs) and set(backward.inputs) & set(program.inputs)
    inside = forward.params["program"]
    assert not set(inside.inputs) & set(inside.outputs)
