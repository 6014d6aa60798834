"""Jitted functions that run as they are."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def test_disable_jit():
    seen = []
    f = pa.jit(lambda x: (seen.append(type(x)), x + 1)[1])
    with pa.disable_jit():
        same(f(x3), x3 + 1)
        f(x3)
        with (
            pa.disable_jit(False),
            pytest.warns(pa.PerformanceWarning, match="it adds to seen, outside of it, when it is traced"),
        ):
            f(x3)
    for _ in range(3):
        f(x3)
    assert seen[:2] == [np.ndarray, np.ndarray] and len(seen) == 3
