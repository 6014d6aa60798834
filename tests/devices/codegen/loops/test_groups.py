"""Passes over the same rows share their loops."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


def test_rows_share_their_loops():
    x = rng.normal(size=(128, 200))
    x[3, 5], x[7] = -np.inf, -np.inf
    run(lambda x: pa.softmax(x, axis=-1), x)
    run(lambda x: [pa.standardize(pa.tanh(x)), pa.logsumexp(x, axis=1)], x, rtol=1e-11)
    run(lambda x: pa.softmax(x, axis=0), x)
    run(lambda x: pa.grad(lambda x: pa.sum(pa.softmax(pa.tanh(x), axis=-1) ** 2))(x), x, rtol=1e-11)
