"""Short loops with many function calls run over whole vectors, the last one filled up."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.padding import CALLS, LANES, LONGEST

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

calls = lambda n: lambda x: sum(pa.sin(x * (k + 1.0)) for k in range(n))


def padded(f, *xs):
    """Whether copies are made, in memory as long as whole vectors."""
    (text,) = pa.compile_program(pa.make_ir(f)(*xs), pa.devices.Device("cpu")).sources
    return f"p0[{-(-np.size(xs[0]) // LANES) * LANES}]" in text


@pytest.mark.parametrize("n, fits", [
    (1, False), (2, False), (3, True), (LANES - 1, True), (LANES, False), (LANES + 1, True), (LONGEST - 1, True),
    (LONGEST, False), (LONGEST + 1, False),
])  # fmt: skip
def test_lengths(n, fits):
    x = np.linspace(-3, 3, n)
    assert padded(calls(CALLS), x) == fits
    run(lambda x: [calls(CALLS)(x), x[::-1] + 1.0], x)


def test_how_many_calls_are_worth_it():
    x = np.linspace(-3, 3, 11)
    assert [padded(calls(k), x) for k in (CALLS - 1, CALLS)] == [False, True]


def test_what_is_read_otherwise_than_in_a_row_is_not_copied():
    """Backwards, in steps, at places that are computed, or added to: a plain loop. One number for all is no obstacle."""
    x, many = np.linspace(-3, 3, 11), calls(CALLS)
    assert padded(lambda x, s: many(x) + s, x, 2.0)
    assert not padded(lambda x: many(x[::-1]), x) and not padded(lambda y: many(y[::2]), np.linspace(0, 1, 22))
    assert not padded(lambda x, i: many(x[i]), x, np.arange(11))
    assert not padded(lambda x: pa.sum(many(x)), x)
    run(lambda x, s, i: [many(x) + s, many(x[::-1]), many(x[::2]), many(x[i]), pa.sum(many(x))], x, 2.0, np.arange(11))


def test_values_behind_the_end_are_nobodys():
    """They are those of the last element: no others, which might raise flags, and nothing is written behind a result."""
    x = np.array([1.0, 2.0, 3.0])
    f = lambda x: sum(pa.log(x - k * 0.1) for k in range(CALLS))
    assert padded(f, x)
    with np.errstate(all="raise"):
        run(lambda x: [f(x), f(x) > 0, f(x) * 1j], x)
