"""Identities that hold for every number, and what looks like one and must stay."""

import numpy as np
import pytest
from optimizing import after

import polyad as pa
from polyad.dsl.ir.passes import optimized

x = np.array([1.5, -0.0, np.inf, np.nan])


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
        (lambda x: 1.0 * x[:, None], ["reshape"]),
        (lambda x: x * np.ones((2, 1)), ["multiply"]),
        (lambda x: x.astype(np.float32) * np.float64(1.0), ["astype", "multiply"]),
    ],
)  # fmt: skip
def test_what_must_stay(f, left):
    assert after(f, x) == left


def test_derivatives_of_what_was_simplified():
    program = optimized(pa.make_ir(lambda x: pa.sum(x * 1.0 * pa.stop_gradient(x) + pa.negative(-x)))(x[:2]))
    np.testing.assert_array_equal(pa.grad(lambda v: program(v))(x[:2]), x[:2] + 1)
