"""Programs made of functions inside of control flow: what they read becomes arguments, and their results are alike."""

import numpy as np
import pytest
from network import XS, W, loss

import polyad as pa
from polyad.dispatch import Layer
from polyad.dsl.avals import Aval
from polyad.dsl.control.subprograms import alike, as_numbers, joined_lanes, sharing_inputs, subprogram, wider
from polyad.dsl.ir.programs import evaluate

pytestmark = pytest.mark.quick

x64 = np.arange(3.0)


def test_what_is_read_from_outside_becomes_arguments():
    outside = np.array([1.0, 2.0, 3.0])
    f = lambda x: [x * outside + 2.0, outside]
    program, read = subprogram("f", f, [x64])
    assert [v.aval for v in program.inputs] == [Aval((3,), float)] * 2 and not program.constants
    assert len(read) == 1 and read[0] is outside
    np.testing.assert_array_equal(evaluate(program, [outside + 1, x64])[0], x64 * (outside + 1) + 2.0)
    program, read = subprogram("f", f, [x64], hoist=False)
    assert len(program.inputs) == 1 and read == [] and len(program.constants) == 1


def test_a_value_that_is_not_needed_is_not_read():
    program, read = subprogram("f", lambda x: [(pa.sin(np.ones(3) * x), x)[1]], [x64])
    assert read == [] and program.equations == []


def test_programs_that_read_the_same_values_take_them_first():
    a, b = np.ones(3), np.full(3, 2.0)
    made = [subprogram("f", lambda x: [x * a + b], [x64]), subprogram("g", lambda x: [x - b], [x64])]
    programs, values = sharing_inputs(made)
    assert {id(v) for v in values} == {id(a), id(b)} and len(values) == 2
    for program, right in zip(programs, (x64 * a + b, x64 - b), strict=True):
        np.testing.assert_array_equal(evaluate(program, [*values, x64])[0], right)


@pytest.mark.parametrize(("results", "aval", "kind"), [
    ([1.5, x64[0]], Aval((), float), None), ([1, 2.5], Aval((), float), float), ([True, 2], Aval((), int), int),
    ([1, np.float32(2)], Aval((), np.float32), None), ([1, 2j], Aval((), complex), complex),
    ([x64, x64], Aval((3,), float), None),
])  # fmt: skip
def test_numbers_take_the_dtype_that_the_others_have(results, aval, kind):
    made = [subprogram("f", lambda r=r: [r], []) for r in results]
    programs, kinds = alike("cond", [""], [program for program, read in made])
    assert kinds == [kind] and wider(bool, int) is int
    for program, (_, read) in zip(programs, made, strict=True):
        (y,) = evaluate(program, read)
        assert kind is not None or (np.asarray(y).dtype, np.asarray(y).shape) == (aval.dtype, aval.shape)


@pytest.mark.parametrize(("f", "text"), [
    (lambda x: pa.cond(x[0] > 0, lambda: (x, x), lambda: x), "cond: its functions return different structures: * and (*, *)"),
    (lambda x: pa.cond(x[0] > 0, lambda: x, lambda: pa.astype(x, np.float32)),
     "cond: its functions return float32[3] and float64[3] for the result itself; shapes and dtypes must agree"),
    (lambda x: pa.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": 1.0}), "and a number (float) for the result['a']"),
    (lambda x: pa.switch(pa.astype(x[0], int), [lambda: 1, lambda: 2.5, lambda: pa.astype(x[0], int)]), "a number (float)"),
])  # fmt: skip
def test_branches_that_differ(f, text):
    with pytest.raises(pa.StructureError) as info:
        pa.make_ir(f)(x64)
    assert text in str(info.value), info.value


def test_programs_that_do_not_fit_are_refused():
    program = pa.make_ir(loss)(W, XS)
    scan = next(e for e in program.equations if "body" in e.params)
    with pytest.raises(pa.ShapeError, match="steps_of: argument 0 of the program body is"):
        pa.eval_shape(scan.op, W[0], np.zeros(2), XS, **scan.params)
    with pytest.raises(pa.ShapeError, match="takes 3 arguments, not 2"):
        pa.eval_shape(scan.op, W, np.zeros(2), **scan.params)


def test_results_that_stand_for_numbers_are_numbers():
    found = as_numbers([np.float64(2.0), np.array(3), x64], [float, int, None])
    assert found[:2] == [2.0, 3] and [type(v) for v in found[:2]] == [float, int] and found[2] is x64


def test_what_is_one_of_several_varies_if_one_does():
    assert joined_lanes([{"i": True, "j": False}, {"i": True}, {}]) == {"i": True, "j": False}
    assert joined_lanes([{"i": False}, {"i": True}]) == {"i": False} and joined_lanes([]) == {}


def test_a_question_of_python_leaves_the_choice_to_python_under_jit_alone():
    f = lambda x: pa.cond(x[0] > 0, lambda: x if x[1] > 0 else -x, lambda: 2 * x)
    for x in (x64 + 1, -x64 - 1, np.array([1.0, -1.0, 0.0])):
        np.testing.assert_array_equal(pa.jit(f)(x), f(x))
    with pytest.raises(pa.ConcreteValueError, match="Python asked for the value"):
        pa.make_ir(f)(x64)
    assert not isinstance(f(x64), Layer)
