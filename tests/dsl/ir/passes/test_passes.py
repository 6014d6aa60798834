"""Passes: what each removes, and what it must leave because a number would change; random programs with each on and off."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.devices.codegen import source
from polyad.devices.codegen.control import loops
from polyad.devices.codegen.loops.nests import Nest
from polyad.devices.codegen.plan.plan import Plan
from polyad.dsl.ir.pass_selection import on
from polyad.dsl.ir.passes import TABLE, common_subexpression_elimination, optimized, shape_specialization, simplify
from polyad.dsl.ir.passes.rewrite_rules import fits
from polyad.dsl.ir.passes.rewriting import with_equations
from polyad.dsl.ir.programs import check, evaluate

_spec = importlib.util.spec_from_file_location("card_programs", Path(__file__).with_name("card_programs.py"))
cards = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cards)
CPU = pa.devices.Device("cpu")
x = np.array([1.5, -0.0, np.inf, np.nan])


def without(*names):
    return tuple([p for p in pa.PASSES if p not in names])


def code(f, *args, **options):
    """The C of a jitted function, which is called."""
    g = pa.jit(f, **options)
    for _ in range(2):
        for a, b in zip(pa.tree.leaves(g(*args)), pa.tree.leaves(f(*args)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    return "\n".join(pa.jit.source(g))


def test_fusion_is_one_loop_for_several_operations():
    f, y = lambda y: pa.sqrt(pa.exp(-y) + 1.0), np.linspace(0.1, 1.0, 1000)
    loops = [code(f, y, passes=p).count("for (int64_t i") for p in (pa.PASSES, without("fusion"))]
    assert loops == [1, 4]


def test_buffers_are_reused():
    def f(y):
        for _ in range(6):
            y = pa.cumsum(y) * 0.1
        return y

    y = np.linspace(0.1, 1.0, 20_000)
    size = lambda passes: int(re.search(r"= taken\((\d+)\)", code(f, y, passes=passes))[1])
    assert size(pa.PASSES) <= 2 * 160_000 and size(without("buffer_reuse")) >= 5 * 160_000


def test_results_in_place_of_carries_and_of_arguments():
    f = lambda y: pa.fori_loop(0, 50, lambda i, c: pa.at(c, i).set(pa.sin(c[i])), y)
    copies = [code(f, np.linspace(0.1, 1.0, 50), passes=p).count("double *spare") for p in (pa.PASSES, without("in_place"))]
    assert copies == [0, 1]

    def writes(y):
        z = pa.sin(y)
        z = pa.at(z, 0).set(z[1] + z[2])
        return pa.at(z, slice(1, None)).multiply(0.5), pa.max(y)

    loops = [code(writes, np.ones(1000), passes=p).count("for (int64_t i") for p in (pa.PASSES, without("in_place"))]
    assert loops[0] < loops[1]
    for passes in (pa.PASSES, without("in_place")):
        g = pa.jit(lambda y: pa.sin(y) + 1.0, donate_argnums=0, passes=passes)
        g(np.ones(100))
        given_away = np.ones(100)
        assert np.shares_memory(g(given_away), given_away) == (passes == pa.PASSES)


# ---------------------------------------------------------------------- random programs
CHOICES = {"all": pa.PASSES, "none": (), **{f"without {name}": without(name) for name in pa.PASSES}}


def agrees(f, xs, passes):
    """A function gives with these passes what it gives eagerly: optimized, compiled, and under jit."""
    with cards.quiet():
        try:
            wanted, program = f(*xs), pa.make_ir(f)(*xs)
        except pa.MissingRuleError:  # no derivative is known
            return
        near, jitted, better = cards.Near(program, xs), pa.jit(f, passes=passes), optimized(program, passes)
        check(better)
        near.check(evaluate(better, xs), wanted)
        near.check(pa.compile_program(program, CPU, passes=passes)(*xs), wanted)
        for _ in range(2):
            near.check(jitted(*xs), wanted)


@pytest.mark.parametrize("passes", CHOICES)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 10), gradient=st.booleans())
def test_random_programs(passes, seed, size, gradient):
    case = cards.CardProgram(seed, size)
    f = (lambda *xs: [pa.grad(case.total, case.smooth[0])(*xs)]) if gradient and case.smooth else case.f
    agrees(f, case.xs, CHOICES[passes])


# ---------------------------------------------------------------------- faults that are put in are found
def wrong_constants(program):
    constants = [(v, y * 2 if y.dtype.kind == "f" else y) for v, y in program.constants]
    return with_equations(program, program.equations, program.outputs, constants)


def one_too_few(program):
    return with_equations(program, program.equations[1:], program.outputs, program.constants)


def fused(self, g, nest):
    return isinstance(g, Nest) and isinstance(nest, Nest) and g.shape == nest.shape


def first_only(temporaries, nests, memory):
    return {v: (first, first) for v, (first, _) in lifetimes(temporaries, nests, memory).items()}


def any_write(program, v, result):
    writes = [e for e in program.equations if result in e.outputs and e.op.__name__ == "index_set"]
    return writes[0] if writes and on("in_place") else None


lifetimes = source.lifetimes
FAULTS = {
    "fold_constants": lambda m: m.setitem(TABLE, "fold_constants", wrong_constants),
    "common_subexpressions": lambda m: m.setattr(common_subexpression_elimination, "_atom", lambda v: getattr(v, "aval", v)),
    "specialize_shapes": lambda m: m.setitem(
        shape_specialization.RULES.rules, "transpose", lambda e, c: shape_specialization.reshaped(e, e.inputs[0])
    ),
    "simplify": lambda m: m.setitem(
        simplify.__globals__["RULES"].rules, "multiply", lambda e, c: e.inputs[0] if fits(e, e.inputs[0]) else None
    ),
    "dead_code": lambda m: m.setitem(TABLE, "dead_code", one_too_few),
    "fusion": lambda m: m.setattr(Plan, "_fusable", fused),
    "buffer_reuse": lambda m: m.setattr(source, "lifetimes", first_only),
    "in_place": lambda m: m.setattr(loops, "write_in_place", any_write),
}


def mirrored(x):
    """What is computed once and read at two places."""
    y = pa.exp(pa.sin(x))
    return [y * y[::-1]]


def chain(x):
    """Values in memory that live at different times, one for long."""
    first = pa.cumsum(pa.sin(x))
    return [pa.cumsum(pa.cumsum(pa.cumsum(first) * 0.1) * 0.1) * first]


def late(x):
    """A carry that is written, and read as it was before."""
    return list(pa.fori_loop(0, 3, lambda i, c: (pa.at(c[0], i).set(2.0), pa.tanh(c[0] + c[1])), (x, x)))


PROGRAMS = {
    "fold_constants": lambda x: [x + pa.sum(pa.asarray(np.arange(3.0)))],
    "common_subexpressions": lambda x: [pa.sin(x) + pa.sin(x[::-1])],
    "specialize_shapes": lambda x: [pa.transpose(pa.reshape(x, (4, -1))), x[:, None].T],
    "simplify": lambda x: [x * 1.0, x * 2.0],
    "dead_code": lambda x: [pa.where(np.ones(40, bool), pa.sin(x), pa.cos(x))],
    "fusion": mirrored, "buffer_reuse": chain, "in_place": late,
}  # fmt: skip


@pytest.mark.parametrize("name", pa.PASSES)
def test_a_fault_in_a_pass_is_found(name, monkeypatch):
    """By the comparison that the test above makes; and there is none to be found with that pass off."""
    for table in ("PROGRAMS", "FAULTS"):
        assert name in globals()[table], (
            f"{name}: a new pass needs an entry in {table} of tests/dsl/ir/passes/test_passes.py: in PROGRAMS a function of an "
            "array of 40 numbers -> list, on which the pass has something to do; in FAULTS a function of monkeypatch that "
            "makes the pass wrong, so that this test sees whether the comparison would find that"
        )
    case = PROGRAMS[name], [np.linspace(-1.0, 1.0, 40)]
    for passes in CHOICES.values():
        agrees(*case, passes)
    FAULTS[name](monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        agrees(*case, pa.PASSES)
    agrees(*case, without(name))
