"""Arrays that are filled part by part: joined ones, and writes at places."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


def test_gather_and_scatter():
    x, i = rng.normal(size=(5, 4)), np.array([[0, -1], [2, 2]])
    run(lambda x, i: [x[i], x[:, i], pa.take(x, i, axis=1), x[i, i], x[1], x[..., ::-2], x[i, :, None]], x, np.clip(i, -1, 3))
    run(lambda x, i: [pa.at(x, i).add(1.0), pa.at(x, i[0]).set(x[:2] * 2), pa.at(x, (slice(1, 3),)).add(x[:2])], x, i)
    run(lambda x, i: pa.grad(lambda x: pa.sum(pa.sin(x[i]) ** 2))(x), x, i)
