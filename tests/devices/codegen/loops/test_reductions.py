"""Reductions in C: short ones, and over several axes."""

import itertools

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.optimized


def same(f, *args, rtol=1e-12):
    with np.errstate(all="ignore"):
        g, wanted = pa.jit(f), f(*args)
    g(*args)
    for a, b in zip(pa.tree.leaves(g(*args)), pa.tree.leaves(wanted), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


AXES = [axes for k in (1, 2, 3) for axes in itertools.combinations(range(4), k)]


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (9, 2, 10, 3), (1, 17, 1, 2), (3, 0, 2, 2)])
@pytest.mark.parametrize("axes", AXES)
def test_reductions(shape, axes):
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    if x.size:
        x.flat[:: max(1, x.size // 3)] = np.nan
    full = all(shape[a] for a in axes)

    def f(x):
        found = [pa.sum(x * 2, axes), pa.prod(x, axes, keepdims=True), pa.any(x > 1, axes), pa.all(x < 1.4, axes)]
        if full:
            found += [pa.max(x, axes), pa.min(pa.where(pa.isnan(x), 1.0, x), axes), x - pa.max(x, axes, keepdims=True)]
        return found

    same(f, x)
    same(f, x.astype("f"), rtol=1e-5)
