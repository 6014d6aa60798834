"""A compiled function against its operations."""

import numpy as np

import polyad as pa


def same(f, *args, rtol=1e-9):
    """The compiled function, called twice, gives what the operations give; returns it."""
    g, wanted = pa.jit(f), f(*args)
    g(*args)
    for a, b in zip(pa.tree.leaves(g(*args)), pa.tree.leaves(wanted), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(b), initial=0.0)))
    return g
