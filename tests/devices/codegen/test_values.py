"""What only derivatives see is left out of compiled programs."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.values import values_of
from polyad.dsl.ir.programs import evaluate

pytestmark = pytest.mark.quick

X = np.array([0.4, 1.6, -2.5])


def left(f, *xs):
    """The names of the operations that are left, once the values were compared."""
    program = pa.make_ir(f)(*xs)
    made = values_of(program)
    for a, b in zip(evaluate(made, xs), evaluate(program, xs), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    return [e.op.__name__ for e in made.equations]


def test_slopes_are_left_out_with_what_they_are_made_of():
    assert "with_slopes_of" not in left(lambda x: pa.with_slopes_of(pa.rint(x), x) * 2.0, X)
    assert left(lambda x: pa.with_slopes_of(x, x), X) == []


def test_values_that_are_broadcast_stay():
    """Their shape is that of both."""
    assert "with_slopes_of" in left(lambda x: pa.with_slopes_of(x[0], x), X) or "broadcast_to" in left(
        lambda x: pa.with_slopes_of(x[0], x), X
    )


def test_programs_within_operations():
    f = lambda x: pa.fori_loop(0, 3, lambda i, c: pa.with_slopes_of(pa.rint(c), pa.exp(c)) * 0.5, x)
    np.testing.assert_array_equal(pa.jit(f)(X), f(X))
