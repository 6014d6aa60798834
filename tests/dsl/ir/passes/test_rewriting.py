"""What passes share: replacing values, what may be left out, and constants whose elements are all equal."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.passes.rewriting import AT_ONCE, pure, replaced, single
from polyad.dsl.ir.programs import Equation, check, evaluate

pytestmark = pytest.mark.quick

X = np.array([0.5, -1.5])
PROGRAM = pa.make_ir(lambda x: (pa.sin(x) * pa.cos(x), pa.cos(x)))(X)


def names(program):
    return [e.op.__name__ for e in program.equations]


def test_a_value_that_is_another_is_replaced_wherever_it_is_read():
    sine = {}

    def rewrite(e):
        if e.op.__name__ == "sin":
            sine["is"] = e.outputs[0]
        return [e.inputs[0]] if e.op.__name__ == "cos" else None

    better = replaced(PROGRAM, rewrite)
    check(better)
    assert names(better) == ["sin", "multiply"] and better.outputs[1] is better.inputs[0]
    np.testing.assert_array_equal(evaluate(better, [X])[0], np.sin(X) * X)
    assert names(PROGRAM).count("cos") >= 1  # the program itself stays


def test_another_step_for_the_same_result_and_a_number_for_it():
    other = pa.dsl.operations["tanh"]
    better = replaced(PROGRAM, lambda e: Equation(other, e.inputs, {}, e.outputs) if e.op.__name__ == "sin" else None)
    np.testing.assert_array_equal(evaluate(better, [X])[0], np.tanh(X) * np.cos(X))
    number = replaced(PROGRAM, lambda e: [2.0] if e.op.__name__ in ("sin", "cos") else None)
    assert names(number) == ["multiply"] and evaluate(number, [X])[1] == 2.0


def test_constants_may_be_others():
    program = pa.make_ir(lambda x: x + np.ones(2))(X)
    (v, unused), *rest = program.constants
    assert evaluate(replaced(program, lambda e: None, [(v, np.full(2, 5.0))]), [X])[0].tolist() == [5.5, 3.5]
    assert evaluate(replaced(program, lambda e: None), [X])[0].tolist() == [1.5, -0.5]


def test_what_acts_or_talks_to_others_is_kept():
    steps = {
        e.op.__name__: e for e in pa.make_ir(lambda x: (pa.debug_print("{}", x), pa.callback(np.sin, x, x) * x))(X).equations
    }
    assert [pure(steps[name]) for name in ("effect_call", "pure_call", "multiply")] == [False, True, True]
    within = pa.make_ir(lambda x: pa.cond(x[0] > 0, lambda: (pa.debug_print("a"), x)[1], lambda: x))(X).equations[-1]
    assert not pure(within)


@pytest.mark.parametrize("size", [1, 2, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, bool, complex])
def test_the_one_value_of_all_elements(size, dtype):
    x = np.full(size, 1.5).astype(dtype)
    found = single(x)
    assert found == x[0] and type(found) is x.dtype.type
    for place in {0, size // 2, size - 1} if size > 1 else ():
        y = x.copy()
        y[place] = 0
        assert single(y) is None
    assert single(np.broadcast_to(x[0], (3, size))) == x[0] and single(x.reshape(1, -1, 1)) == x[0]


def test_to_the_bit():
    assert single(np.array([0.0, -0.0])) is None and np.signbit(single(np.array([-0.0, -0.0])))
    assert np.isnan(single(np.array([np.nan, np.nan])))
    assert single(np.zeros(0)) is None and single(np.float32(2.0)) == 2.0 and single("text") is None
    columns = np.arange(4.0).reshape(2, 2)[:, [1, 1]].T
    assert single(columns[:, :1]) is not None and single(columns) is None
