"""Passes that are chosen by name: each can be left out, and derivatives and programs within have them too."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.pass_selection import chosen
from polyad.dsl.ir.passes import ORDER, TABLE, optimized
from polyad.dsl.ir.programs import check

CPU = pa.devices.Device("cpu")
x = np.array([1.5, -0.0, np.inf, np.nan])


def test_every_pass_can_be_left_out():
    program = pa.make_ir(lambda x: pa.sin(x) * 1.0 + pa.sin(x))(x)
    assert len(optimized(program, ()).equations) == 4
    for name in TABLE:
        check(optimized(program, [n for n in ORDER if n != name]))
    with pytest.raises(pa.StructureError, match="passes is 'fusoin'; give a tuple of names among fold_constants, common"):
        pa.jit(pa.sin, passes=("fusoin",))
    with pytest.raises(pa.StructureError, match="passes is str"):
        pa.compile_program(program, CPU, passes="fusion")


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
