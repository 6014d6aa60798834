"""Matrix functions and equations, under SciPy's names."""

import numpy as np

import polyad as pa


def solve_banded(widths, bands, b):
    """x of a x = b; bands[k, j] = a[j + k - upper, j]."""
    n, (_, upper) = bands.shape[-1], widths
    rows, columns = np.indices((n, n))
    inside = (rows - columns + upper >= 0) & (rows - columns + upper < len(bands))
    a = np.where(inside, bands[np.where(inside, rows - columns + upper, 0), columns], 0.0)
    return np.linalg.solve(a, b)
