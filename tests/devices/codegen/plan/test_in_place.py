"""Writes to arrays that nobody reads afterwards need no copy; all others make one."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.bodies import Graph
from polyad.devices.codegen.plan.in_place import chains
from polyad.devices.codegen.text.math_functions import Functions

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "control" / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


def test_writes_in_place():
    """A table that is filled from what is there already; the argument stays as it was."""
    table = RNG.normal(size=200)
    before = table.copy()
    fill = lambda i, x: pa.at(x, i).set(x[i - 1] * 0.5 + x[i] * x[0])
    run = compare(lambda x: pa.fori_loop(1, 200, fill, x), table)
    np.testing.assert_array_equal(table, before)
    np.testing.assert_array_equal(run(table)[0], run(table)[0])
    compare(pa.grad(lambda x: pa.sum(pa.fori_loop(1, 200, fill, x) ** 2)), table)


def test_reads_behind_a_write_see_what_was_there():
    def step(i, state):
        x, total = state
        y = pa.at(x, i).set(total)
        return y, total + x[i] + y[i]

    compare(lambda x: pa.fori_loop(0, 50, step, (x, 0.5)), RNG.normal(size=50))

    def through_another_shape(i, state):
        x, total = state
        square = pa.reshape(x, shape=(5, 10))
        return pa.at(x, i).set(total), total + pa.sum(square[0]) * 0.01

    compare(lambda x: pa.fori_loop(0, 50, through_another_shape, (x, 0.5)), RNG.normal(size=50))


def write(x, v=2.0):
    return pa.at(x, 0).set(v)


@pytest.mark.parametrize("f, lengths", [
    (lambda x: write(pa.sin(x)), [2]), (lambda x: write(write(pa.sin(x)), 3.0) * 2.0, [3]),
    (lambda x: write(x), []),  # the caller's
    (lambda x: (lambda e: write(e) + e)(pa.sin(x)), []), (lambda x: (lambda e: (write(e), e))(pa.sin(x)), []),  # read later on
    (lambda x: (lambda e: write(e, pa.sum(e)))(pa.sin(x)), [2]),  # read before
    (lambda x: (lambda e: write(e, pa.sum(pa.reshape(e, (2, 3)))))(pa.sin(x)), []),  # by another shape of the same memory
    (lambda x: write(pa.reshape(pa.sin(x), (2, 3))), []),
])  # fmt: skip
def test_which_writes_need_no_copy(f, lengths):
    program, graph = pa.make_ir(f)(np.ones(6)), Graph(Functions())
    found, kept = chains(program.equations, set(program.outputs), graph)
    assert [len(chain) for chain in found] == lengths and len(graph.in_place) == sum(n - 1 for n in lengths)
    assert all(chain[0] in kept for chain in found)
