"""Functions that do something else each time."""

import gc

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def test_functions_that_do_something_else_each_time():
    @pa.jit
    def f(x):
        y = x * gc.get_threshold()[2]  # nowhere that jit looks
        return y if y.sum() > 0 else -y

    before = gc.get_threshold()
    try:
        gc.set_threshold(*before[:2], 1)
        same(f(x3), x3)
        gc.set_threshold(*before[:2], 2)
        with pytest.warns(pa.PerformanceWarning, match="does something else when it is run again .*random numbers need keys"):
            same(f(-x3), 2 * x3)
        same(f(x3), 2 * x3)  # eagerly
    finally:
        gc.set_threshold(*before)
