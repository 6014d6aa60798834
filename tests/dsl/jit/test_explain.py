"""What is behind a jitted function."""

import numpy as np

import polyad as pa

x3 = np.array([1.0, -2.0, 3.0])


def test_programs_and_source():
    f = pa.jit(lambda x: pa.sin(x) * 2 if x[0] > 0 else x)
    for _ in range(3):
        f(x3)
    first, second = pa.jit.programs(f)
    assert "greater" in str(first) and "sin" in str(second) and "def" in second.code
    if pa.jit.source(f):
        assert all("int run(" in text for text in pa.jit.source(f))
    assert "compiled in" in pa.jit.explain(f) and "True -> segment 1" in pa.jit.explain(f)
