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
from polyad.dsl.ir.pass_selection import chosen, on
from polyad.dsl.ir.passes import ORDER, TABLE, common_subexpression_elimination, optimized, shape_specialization, simplify
from polyad.dsl.ir.passes.rewrite_rules import fits
from polyad.dsl.ir.passes.rewriting import with_equations
from polyad.dsl.ir.programs import check, evaluate

_spec = importlib.util.spec_from_file_location("card_programs", Path(__file__).with_name("card_programs.py"))
cards = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cards)
CPU = pa.devices.Device("cpu")
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
    for name in TABLE:
        check(optimized(program, [n for n in ORDER if n != name]))
    with pytest.raises(pa.StructureError, match="passes is 'fusoin'; give a tuple of names among fold_constants, common"):
        pa.jit(pa.sin, passes=("fusoin",))
    with pytest.raises(pa.StructureError, match="passes is str"):
        pa.compile_program(program, CPU, passes="fusion")


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


# ---------------------------------------------------------------------- shapes
@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: pa.transpose(x[:, None]), ["reshape"]), (lambda x: pa.max(x[None], axis=0), []),
        (lambda x: pa.prod(x[:, None], axis=1, keepdims=True), ["reshape"]),
        (lambda x: pa.sum(x[None], axis=0), ["reshape", "sum"]),  # -0.0 becomes 0.0
        (lambda x: pa.sum(pa.isnan(x)[None], axis=0), ["isnan", "reshape", "sum"]),
            (lambda x: x[::-1], ["index"]), (lambda x: x[:, None][:, ::-1], ["reshape", "index"]),
            (lambda x: x[None, ..., None][0, :, 0], []),
        (lambda x: pa.concatenate([x[:0], x, x[4:]]), []), (lambda x: pa.concatenate([x, x[:0], x]), ["concatenate"]),
        (lambda x: pa.transpose(pa.reshape(x, (2, 2))), ["reshape", "transpose"]),
    ],
)  # fmt: skip
def test_shapes(f, left):
    assert after(f, x) == left


# ---------------------------------------------------------------------- seen in the code
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


def test_passes_reach_derivatives_and_programs_within(monkeypatch):
    """All programs of derivatives, and steps that run one by one, are compiled as the function is."""
    from polyad.devices.codegen import program as codegen

    seen, compiled = [], codegen.compiled
    monkeypatch.setattr(codegen, "compiled", lambda program: (seen.append((chosen(), program.passes)), compiled(program))[1])
    passes, y = ("simplify", "dead_code"), np.linspace(0.0, 1.0, 12).reshape(3, 4)
    f = lambda y: pa.sum(pa.exp(pa.sin(y) * y))
    steps = lambda y: pa.scan(lambda c, e: (c + e, pa.fft.fft(pa.exp(e) * 2.0 + c).real), y[0], y)[1]
    total = lambda g: pa.grad(lambda y: pa.sum(g(y)))
    for way, body in ((pa.grad, f), (pa.hessian, f), (pa.vmap, f), (pa.jacfwd, steps), (total, steps)):
        g = way(pa.jit(body, passes=passes))
        for _ in range(2):
            np.testing.assert_allclose(g(y), way(body)(y), rtol=1e-12)
    assert len(seen) >= 10 and set(seen) == {(passes, passes)}


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
