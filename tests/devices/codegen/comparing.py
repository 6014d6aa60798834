"""A program, compiled, against the function."""

import numpy as np

import polyad as pa


def run(f, *xs, rtol=1e-13):
    """f compiled, compared with f; the results."""
    program = pa.make_ir(f)(*xs)
    found = pa.compile_program(program, pa.devices.Device("cpu"))(*pa.tree.leaves(xs))
    for a, b in zip(found, pa.tree.leaves(f(*xs)), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    return found
