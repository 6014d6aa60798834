"""Every elementwise operation and its first derivatives at some fifty points, both tails among them, within the goals or the
bounds that `exceptions.py` gives reasons for; the whole table is `make accuracy`'s."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exceptions import EXCEPTIONS, GOALS, bound  # noqa: E402
from measure import largest, names, rows  # noqa: E402
from references import REFERENCES  # noqa: E402

FEW = 0.02  # of the usual number of points: about fifty


def test_every_elementwise_operation_has_a_reference():
    assert not set(names()) - set(REFERENCES), "tests/accuracy/references.py needs a line for them"
    measured = {(name, by, order) for name in names() for by, order in rows(name)}
    assert not set(EXCEPTIONS) - measured


@pytest.mark.parametrize("name", names())
def test_values_and_first_derivatives(name):
    for by, order in rows(name):
        if GOALS[order] is None:
            continue
        for dtype in (np.float64, np.float32, np.float16):
            found, where = largest(name, dtype, by, order, count=FEW)
            assert found is None or found <= bound(name, by, order), (name, by, order, dtype, found, where)


COMPILED = ("tanh", "exp", "arctan2", "erf", "ndtr", "log_ndtr", "logaddexp", "expm1", "arcsinh", "power")


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    """Those whose C is ours, or whose slopes go through helpers of ours."""
    for by, order in rows(name):
        for dtype in (np.float64, np.float32):
            if GOALS[order] is not None:
                found, where = largest(name, dtype, by, order, compiled=True, count=FEW)
                assert found <= bound(name, by, order), (name, by, order, dtype, found, where)
