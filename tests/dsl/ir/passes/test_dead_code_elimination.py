"""Steps whose results nobody reads are left out."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("optimizing", Path(__file__).with_name("optimizing.py"))
optimizing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(optimizing)
after = optimizing.after

x = np.array([1.5, -0.0, np.inf, np.nan])


def test_dead_code():
    program = pa.make_ir(lambda x: pa.sin(x))(x)
    assert after(lambda x: (pa.cos(x), pa.sin(x))[1], x) == ["sin"] == [e.op.__name__ for e in program.equations]
