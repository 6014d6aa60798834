"""Choices in C, against the operations one by one."""

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


SIZES = [(), (3,), (40,), (600,)]


@pytest.mark.parametrize("shape", SIZES)
def test_choices(shape):
    three = lambda i, x: pa.switch(i, [lambda: x * 2, lambda: x, lambda: x - 1])
    f = lambda i, x: (pa.cond(i > 1, lambda: pa.exp(-x * x), lambda: x), three(i, x))
    for i in range(4):
        compare(f, np.int64(i), RNG.normal(size=shape))
    compare(pa.grad(lambda x: pa.sum(f(pa.astype(pa.sum(x) > 0, dtype="int64") + 1, x)[0])), RNG.normal(size=shape))
