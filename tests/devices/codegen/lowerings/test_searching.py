"""Searches in sorted vectors within compiled programs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("agreeing", Path(__file__).with_name("agreeing.py"))
agreeing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(agreeing)
same = agreeing.same


@pytest.mark.parametrize("n", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
def test_searches(dtype, n):
    rng = np.random.default_rng(n)
    a, v = np.sort(rng.integers(0, 20, n)).astype(dtype), rng.integers(0, 22, (5, 6)).astype(dtype)
    if dtype != "l":
        a[n - n // 4 :] = np.nan
        v[0], v[1, :2] = np.nan, (np.inf, -np.inf)

    def searched(a, back, v):
        ways = [(a, v), (back[::-1], v), (a, 2.5)]
        return [pa.searchsorted(x, wanted, side=side) for x, wanted in ways for side in ("left", "right")]

    same(searched, a, a[::-1].copy(), v)
