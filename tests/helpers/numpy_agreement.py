"""NumPy's functions on followed values against the same on plain arrays."""

import numpy as np

import polyad as pa


def modes(f, *xs):
    """f's value under each transformation, on all floating arguments; over lanes, the first lane's."""
    inexact = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"]

    def g(*values):
        full = list(xs)
        for i, v in zip(inexact, values, strict=True):
            full[i] = v
        return f(*full)

    args = [xs[i] for i in inexact]
    every = [x for x in xs if isinstance(x, (np.ndarray, np.generic))]
    arrays = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic))]

    def h(*values):
        full = list(xs)
        for i, v in zip(arrays, values, strict=True):
            full[i] = v
        return f(*full)

    if inexact:
        yield "grad", pa.vjp(g, *args)[0]
        yield "jvp", pa.jvp(g, tuple(args), tuple(args))[0]
    yield "vmap", pa.tree.map(lambda y: y[0], pa.vmap(h)(*[np.stack([x, x]) for x in every]))
    yield "ir", pa.make_ir(h)(*every)(*every)


def agree(f, *xs, expected=None):
    expected = f(*xs) if expected is None else expected
    for mode, found in modes(f, *xs):
        for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
            rtol = 1e-6 if np.asarray(b).dtype == np.float32 else 1e-12
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14, err_msg=mode)
            assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype, mode
