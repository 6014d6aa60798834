"""What is not C within a loop or choice: the rest of it runs compiled, and what acts stays outside."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa
from polyad.devices.codegen.program import compiled, stretches
from polyad.dsl.ir.passes import optimized

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


def test_what_acts_stays_outside():
    seen = []
    note = lambda c: pa.io_callback(lambda x: seen.append(float(x)), None, c)
    f = lambda x: pa.scan(lambda c, a: (note(c), (c + a, c))[1], 0.0, x)
    program = optimized(pa.make_ir(f)(np.arange(3.0)))
    assert not all(is_c for is_c, _ in stretches(program.equations))
    compiled(program)(np.arange(3.0))
    assert seen == [0.0, 0.0, 1.0]


def test_a_body_with_an_operation_without_c_runs_its_rest_compiled():
    a = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
    f = lambda a, x: pa.scan(lambda c, s: (pa.linalg.solve(a, c) + pa.sin(c) * s, c[0]), x, np.arange(3.0))
    compare(f, a, RNG.normal(size=4), whole=False)
    small = lambda a, x: pa.while_loop(lambda c: pa.sum(c * c) > 1e-3, lambda c: pa.linalg.solve(a, c), x)
    compare(small, a, RNG.normal(size=4), whole=False)
    one = lambda a, x: pa.cond(x[0] > 0, lambda: pa.linalg.solve(a, x), lambda: x)
    compare(one, a, RNG.normal(size=4), whole=False)
