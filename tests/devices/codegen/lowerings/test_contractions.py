"""Products of vectors and matrices in compiled programs, of every dtype."""

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
PRODUCTS = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
    ((9, 17), (17, 11)), ((1, 300), (300, 33)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((70, 60), (60, 50)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["d", "f", "D", "l", "?"])
def test_products(dtype):
    make = lambda *s: (rng.normal(size=s) * 3).astype(dtype)
    tolerance = 1e-12 if dtype in "dDl?" else 1e-4
    pairs = [make(*shape) for shapes in PRODUCTS for shape in shapes]
    run(lambda *xs: [x @ y for x, y in zip(xs[::2], xs[1::2])], *pairs, rtol=tolerance)
    if dtype != "?":
        few = lambda x, y: [pa.transpose(x) @ y, x @ pa.transpose(y[:, ::-1]), (x + x)[1:] @ y]
        many = lambda x, y: [pa.transpose(x) @ y, y @ pa.transpose(y), pa.einsum("ij,kj->ki", x, y)]
        given = [make(n, m) for n, m in ((8, 8), (8, 8), (60, 70), (60, 70))]
        run(lambda x, y, v, w: few(x, y) + many(v, w), *given, rtol=tolerance)
