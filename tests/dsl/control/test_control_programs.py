"""Programs with control flow: their pictures, and what is found wrong in the programs within."""

import pytest
from network import XS, W, loss

import polyad as pa
from polyad.dsl.ir.programs import Equation, Var, check


def test_picture_and_equations_of_programs_within():
    picture = pa.make_ir(loss)(W, XS).draw()
    assert "subgraph cluster" in picture and "body of" in picture.replace('"', "")


def test_check_looks_into_programs():
    program = pa.make_ir(loss)(W, XS)
    scan = next(e for e in program.equations if "body" in e.params)
    body = scan.params["body"]
    body.equations[0].inputs = [Var(body.inputs[0].aval), *body.equations[0].inputs[1:]]
    with pytest.raises(AssertionError, match="in body of steps_of: matmul uses a value that is not defined"):
        check(program)


def test_equations_can_be_made_by_hand():
    program = pa.make_ir(lambda x: x * 2.0)(1.0)
    e = program.equations[0]
    assert str(Equation(e.op, e.inputs, e.params, e.outputs).params) == "{}"
