"""What is computed twice is computed once, if parameters, types and signs of zero agree."""

import numpy as np
from optimizing import after

import polyad as pa
from polyad.dsl.ir.passes import optimized

x = np.array([1.5, -0.0, np.inf, np.nan])


def test_common_subexpressions():
    assert after(lambda x: pa.sin(x) + pa.sin(x) * pa.sin(x), x) == ["sin", "square", "add"]
    assert after(lambda x: (pa.sum(x, axis=0), pa.sum(x, axis=None)), x) == ["sum", "sum"]
    assert after(lambda x: (x * 0.0, x * -0.0, x + 1, x + 1.0, x + True), x)[:2] == ["multiply", "multiply"]
    a, b = np.arange(3.0), np.arange(3.0)
    program = pa.make_ir(lambda x: (x * a, x * b))(1.0)
    assert len(optimized(program).constants) == 1
