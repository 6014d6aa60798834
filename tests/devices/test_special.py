"""Special functions where SciPy is missing, or a library has none of them."""

import subprocess
import sys

import pytest

import polyad as pa


def test_without_scipy_the_error_names_the_extra():
    program = """
import sys
sys.modules["scipy"] = sys.modules["scipy.special"] = None
import numpy as np, polyad as pa
assert pa.expit(0.0) == 0.5 and pa.softmax(np.zeros(2))[0] == 0.5 and pa.random.normal(pa.random.key(0), 3).shape == (3,)
try:
    pa.erf(np.ones(2))
except ImportError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "polyad.erf needs scipy.special" in found.stdout and "polyad[scipy]" in found.stdout, found.stderr


def test_a_library_without_the_function_says_so():
    from polyad.devices.special import LazyModule

    run = LazyModule("math", "").function("erfinv", "erfinv")
    with pytest.raises(pa.MissingRuleError, match=r"erfinv: math has no erfinv; .*to_device"):
        run(0.5)
