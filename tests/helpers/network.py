"""A program with a loop, a scan and a choice, and what is made of it."""

import io

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import Program

W, XS = np.array([[0.5, -0.2], [0.1, 0.3]]), np.linspace(-1, 1, 6).reshape(3, 2)


def network(w, xs):
    """A scan, a while loop and a choice in it, which reads the scan's result."""
    h, ys = pa.scan(lambda h, x: ((y := pa.tanh(w @ h["h"] + x)), y)[:0] or ({"h": y}, y), {"h": np.zeros(2)}, xs)
    grown = lambda s: (s[0] * pa.cond(s[1] > 1, lambda: h["h"][0], lambda: 2.0), s[1] + 1)
    return {"a": pa.sum(ys) + pa.while_loop(lambda s: s[1] < 3, grown, (h["h"][1], 0))[0], "b": ys}


def loss(w, xs):
    return network(w, xs)["a"]


def runs(program, *args):
    named = {}
    exec(program.code, named)
    return named[program.name if program.name.isidentifier() and program.name != "lambda" else "program"](*args)


def reloaded(program):
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    return Program.load(file)


transforms = pytest.mark.parametrize("transform", [
    lambda f: f, pa.grad, pa.hessian, lambda f: pa.vmap(pa.grad(f), (None, 0)), lambda f: pa.grad(pa.checkpoint(f)),
    lambda f: lambda w, xs: pa.jvp(lambda w: pa.grad(f)(w, xs), (w,), (w,)),
], ids=["value", "gradient", "hessian", "lanes", "checkpoint", "twice"])  # fmt: skip
