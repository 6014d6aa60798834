"""Reductions in C: short ones, and over several axes."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.devices import compilers

pytestmark = pytest.mark.optimized


def reduced(x, axes):
    found = [pa.sum(x * 2, axes), pa.prod(x, axes, keepdims=True), pa.any(x > 1, axes), pa.all(x < 1.4, axes)]
    if all(x.shape[a] for a in axes):
        found += [pa.max(x, axes), pa.min(pa.where(pa.isnan(x), 1.0, x), axes), x - pa.max(x, axes, keepdims=True)]
    return found


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (9, 2, 10, 3), (1, 17, 1, 2), (3, 0, 2, 2)])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", "df")
def test_reductions(shape, count, dtype, monkeypatch):
    """Over each choice of so many axes, all in one program; in single precision with -O1."""
    if dtype == "f":
        monkeypatch.setattr(compilers, "STRICT", ("-O1", *compilers.STRICT[1:]))
    x, rtol = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype), 1e-12 if dtype == "d" else 1e-5
    if x.size:
        x.flat[:: max(1, x.size // 3)] = np.nan
    choices = list(itertools.combinations(range(4), count))
    f = lambda x: [reduced(x, axes) for axes in choices]
    with np.errstate(all="ignore"):
        g, wanted = pa.jit(f), f(x)
    g(x)
    for axes, ys, zs in zip(choices, g(x), wanted, strict=True):
        for k, (a, b) in enumerate(zip(ys, zs, strict=True)):
            assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b)), (axes, k)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=f"{axes}, {k}")
