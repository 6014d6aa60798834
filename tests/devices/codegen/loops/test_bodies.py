"""The inside of loops: each value once, numbers in place of arrays of them, places that are read from arrays."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


def test_an_index_out_of_range_is_the_operations_error():
    x, i = rng.normal(size=5), np.array([0, 7])
    call = pa.compile_program(pa.make_ir(lambda x, i: pa.sin(x[i]))(x, i), pa.devices.Device("cpu"))
    assert call(x, np.array([0, -5])).__len__() == 1
    for wrong in (np.array([0, 5]), np.array([-6, 0])):
        with pytest.raises(IndexError, match="index"):
            call(x, wrong)


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("n", [8, 17, 100])
def test_places_from_comparisons(n, dtype):
    """gcc 12 takes elements from wrong places where it sees that these come from truth values of another width."""
    rng = np.random.default_rng(n)
    a, b, v = (rng.normal(size=k).astype(dtype) for k in (2, 4, n))
    above = lambda v, x: pa.astype(v >= x, int)
    run(lambda a, v: above(v, pa.take(a, above(v, a[0]))) + above(v, a[0]), np.sort(a), v)
    run(lambda a, b, v: pa.take(b, above(v, a[0]) + above(v, pa.take(b, above(v, a[1])))), a, b, v)
    run(lambda a, v: above(v, pa.take(a, pa.where(v > 0, 1, 0))) + pa.where(v > 0, 1, 0), a, v)
