"""Steps whose results nobody reads are left out."""

import numpy as np
from optimizing import after

import polyad as pa

x = np.array([1.5, -0.0, np.inf, np.nan])


def test_dead_code():
    program = pa.make_ir(lambda x: pa.sin(x))(x)
    assert after(lambda x: (pa.cos(x), pa.sin(x))[1], x) == ["sin"] == [e.op.__name__ for e in program.equations]
