"""Samples for statistics, and what NumPy's function gives with all transformations."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

numbers = nps.arrays(np.float64, nps.array_shapes(max_dims=3, min_side=1, max_side=4), elements=st.integers(-5, 5))


def gappy(x, rng):
    return np.where(rng.integers(0, 3, x.shape) == 0, np.nan, x)


def choose_axis(data, x):
    return data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim), tuple(range(x.ndim))]))


def check(name, x, *args, **params):
    """Plain, NumPy's under a derivative, in lanes and in a program."""
    expected = getattr(np, name)(x, *args, **params)
    f = lambda x: getattr(np, name)(x, *args, **params)
    lanes = np.stack([x, x])
    for found in (getattr(pa, name)(x, *args, **params), pa.jvp(f, (x,), (x,))[0], pa.make_ir(f)(x)(x), pa.vmap(f)(lanes)[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
