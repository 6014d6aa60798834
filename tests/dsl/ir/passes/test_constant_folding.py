"""What depends on constants alone is computed once; what raises is left to run."""

import numpy as np
import pytest
from optimizing import after

import polyad as pa
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate

x = np.array([1.5, -0.0, np.inf, np.nan])


def test_constants_are_folded():
    c = np.arange(4.0)
    assert after(lambda x: x + pa.sum(pa.sin(pa.zeros_like(x) + c)), x) == ["add"]


def test_what_raises_is_left_to_run():
    singular = np.zeros((2, 2))
    program = optimized(pa.make_ir(lambda x: pa.linalg.inv(pa.asarray(singular) + x * 0.0))(1.0))
    with pytest.raises(pa.LinAlgError):
        evaluate(program, [1.0])
