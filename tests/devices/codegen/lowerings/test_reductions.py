"""Reductions by their signs: over each choice of axes, of each dtype, and of nothing."""

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


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    x = rng.normal(size=(5, 4, 7))
    x[2, 1, 3] = np.nan
    names = ("sum", "max", "min", "prod", "mean")
    run(lambda x: [getattr(pa, n)(pa.sin(x), axis=axis, keepdims=keepdims) for n in names], x)
    run(lambda x: [pa.any(x > 1, axis=axis), pa.all(x < 2, axis=axis), pa.sum(x > 0, axis=axis)], x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_each_dtype_and_of_nothing():
    """Sums of small numbers are counted in wide ones, extrema stay what they are; of nothing they are the neutral numbers."""
    xs = [(rng.normal(size=(3, 40)) * 50).astype(dtype) for dtype in "?bHlfdFD"]
    names = lambda x: ["sum", "prod", "any", "all"] + ["max", "min"] * (x.dtype.kind != "c" and x.size > 0)
    xs += [x[:0] for x in xs]
    found = iter(run(lambda xs: [[getattr(pa, n)(x, axis=0) for n in names(x)] for x in xs], xs, rtol=1e-4))
    for x in xs:
        for name in names(x):
            y, right = next(found), getattr(np, name)(x, axis=0)
            assert y.dtype == right.dtype
            np.testing.assert_allclose(y, right, rtol=1e-5 if x.dtype.char in "fF" else 1e-12, err_msg=f"{name} of {x.dtype}")
