"""Calls that stand for several operations, written out for source code and pictures."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.inlining import inlined
from polyad.dsl.ir.programs import check, evaluate


@pa.custom_vjp
def squared(x):
    return x * x, pa.sin(x)


squared.defvjp(lambda x: (squared(x), x), lambda x, ct: (2 * x * ct[0],))


@pa.custom_jvp
def outer(x, scale):
    y, unused = squared(x * scale)
    return y + 1.0


outer.defjvp(lambda xs, dxs: (outer(*xs), dxs[0]))
SHIFT = np.array([1.0, 2.0])


@pa.custom_vjp
def shifted(x):
    return x + SHIFT


shifted.defvjp(lambda x: (shifted(x), None), lambda kept, ct: (ct,))
X = np.array([0.5, -1.5])
PROGRAMS = {
    "two results": lambda x: squared(x)[0] * squared(x)[1], "one unused": lambda x: squared(pa.exp(x))[1],
    "a call in a call": lambda x: outer(x, 3.0) - x, "with a constant": lambda x: shifted(shifted(x)),
    "its result is the result": lambda x: squared(x), "its argument is a result": lambda x: (shifted(x), x),
    "of a number": lambda x: outer(2.0, x[0]) + x,
}  # fmt: skip


def names(program):
    return [e.op.__name__ for e in program.equations]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_without_calls(name):
    program = pa.make_ir(PROGRAMS[name])(X)
    assert "custom_call" in names(program)
    whole = inlined(program)
    check(whole)
    assert "custom_call" not in names(whole) and whole.inputs == program.inputs
    for a, b in zip(evaluate(whole, [X]), pa.tree.leaves(PROGRAMS[name](X)), strict=True):
        np.testing.assert_array_equal(a, b)
    space = {}
    exec(program.code, space)
    for a, b in zip(pa.tree.leaves(space["program"](X)), evaluate(program, [X]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_program_itself_stays_as_it_is_and_one_without_calls_is_given_back():
    program = pa.make_ir(PROGRAMS["a call in a call"])(X)
    before = names(program)
    inlined(program)
    assert names(program) == before
    plain = pa.make_ir(pa.sin)(X)
    assert inlined(plain) is plain


def test_what_has_source_code_of_its_own_stays_one_step():
    program = pa.make_ir(lambda x: pa.cond(x[0] > 0, lambda: x, lambda: -x))(X)
    assert inlined(program) is program
