"""Passes: what each removes, and what it must leave because a number would change."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir import check, evaluate
from polyad.dsl.passes import ORDER, PASSES, optimized

x = np.array([1.5, -0.0, np.inf, np.nan])


def after(f, *args, passes=ORDER):
    """Names of the operations left, the program checked and run."""
    program = pa.make_ir(f)(*args)
    better = optimized(program, passes)
    check(better)
    leaves = pa.tree.leaves(args)
    with np.errstate(all="ignore"):
        for a, b in zip(evaluate(better, leaves), evaluate(program, leaves), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            if np.asarray(a).dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))
    return [e.op.__name__ for e in better.equations]


def test_every_pass_can_be_left_out():
    program = pa.make_ir(lambda x: pa.sin(x) * 1.0 + pa.sin(x))(x)
    assert len(optimized(program, ()).equations) == 4
    for name in PASSES:
        check(optimized(program, [n for n in ORDER if n != name]))


def test_dead_code():
    program = pa.make_ir(lambda x: pa.sin(x))(x)
    assert after(lambda x: (pa.cos(x), pa.sin(x))[1], x) == ["sin"] == [e.op.__name__ for e in program.equations]


def test_common_subexpressions():
    assert after(lambda x: pa.sin(x) + pa.sin(x) * pa.sin(x), x) == ["sin", "square", "add"]
    assert after(lambda x: (pa.sum(x, axis=0), pa.sum(x, axis=None)), x) == ["sum", "sum"]
    assert after(lambda x: (x * 0.0, x * -0.0, x + 1, x + 1.0, x + True), x)[:2] == ["multiply", "multiply"]
    a, b = np.arange(3.0), np.arange(3.0)
    program = pa.make_ir(lambda x: (x * a, x * b))(1.0)
    assert len(optimized(program).constants) == 1


def test_constants_are_folded():
    c = np.arange(4.0)
    assert after(lambda x: x + pa.sum(pa.sin(pa.zeros_like(x) + c)), x) == ["add"]


def test_what_raises_is_left_to_run():
    singular = np.zeros((2, 2))
    program = optimized(pa.make_ir(lambda x: pa.linalg.inv(pa.asarray(singular) + x * 0.0))(1.0))
    with pytest.raises(pa.LinAlgError):
        evaluate(program, [1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 1.0, lambda x: 1.0 * x, lambda x: x / 1.0, lambda x: x - 0.0, lambda x: x + (-0.0),
        lambda x: pa.negative(-x),
        lambda x: x * np.ones(4), lambda x: pa.transpose(pa.transpose(pa.reshape(x, (2, 2)))).reshape(4), lambda x: x[:],
        lambda x: pa.astype(x, np.float64), lambda x: pa.conj(x), lambda x: pa.where(pa.isnan(x), x, x), lambda x: x**1,
        lambda x: pa.broadcast_to(x, (4,)), lambda x: pa.where(np.ones(4, bool), x, 2.0 * x), lambda x: x[0:4],
    ],
)  # fmt: skip
def test_identities_that_hold_for_every_number(f):
    assert after(f, x) == []


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: x + 0.0, ["add"]), (lambda x: x * 0.0, ["multiply"]), (lambda x: x - x, ["subtract"]),
        (lambda x: x / x, ["divide"]), (lambda x: x - (-0.0), ["subtract"]), (lambda x: x * -1.0, ["negative"]),
        (lambda x: x + (-pa.sin(x)), ["sin", "subtract"]), (lambda x: x**2, ["square"]),
        (lambda x: 1.0 * x[:, None], ["index"]),
        (lambda x: x * np.ones((2, 1)), ["multiply"]),
        (lambda x: x.astype(np.float32) * np.float64(1.0), ["astype", "multiply"]),
    ],
)  # fmt: skip
def test_what_must_stay(f, left):
    assert after(f, x) == left


def test_derivatives_of_what_was_simplified():
    program = optimized(pa.make_ir(lambda x: pa.sum(x * 1.0 * pa.stop_gradient(x) + pa.negative(-x)))(x[:2]))
    np.testing.assert_array_equal(pa.grad(lambda v: program(v))(x[:2]), x[:2] + 1)
