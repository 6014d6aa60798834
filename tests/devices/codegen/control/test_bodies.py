"""Programs within operations: what they read and where their results and temporaries lie."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 3, 40])
def test_constants_that_are_one_number_are_arrays_where_memory_is_read(n):
    m = np.full((n, n), 0.5)
    f = lambda on, x: (
        pa.cond(on, lambda: m @ x, lambda: x),
        pa.scan(lambda c, row: (m @ c + row, pa.cumsum(row)), x, m)[1],
        pa.while_loop(lambda c: pa.sum(c) > 1, lambda c: pa.reshape(m, (n * n,))[:n] * c, pa.abs(x)),
    )
    for on in (True, False):
        compare(f, np.bool_(on), RNG.normal(size=n))
