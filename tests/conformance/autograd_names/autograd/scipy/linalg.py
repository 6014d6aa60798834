"""Matrix functions and equations, under SciPy's names."""

import numpy as np
import scipy.linalg

import polyad as pa


def solve_banded(widths, bands, b):
    """x of a x = b; bands[k, j] = a[j + k - upper, j]."""
    n, (_, upper) = bands.shape[-1], widths
    rows, columns = np.indices((n, n))
    inside = (rows - columns + upper >= 0) & (rows - columns + upper < len(bands))
    a = np.where(inside, bands[np.where(inside, rows - columns + upper, 0), columns], 0.0)
    return np.linalg.solve(a, b)


def solve_sylvester(a, b, q):
    """x of a x + x b = q, as one linear system of its rows."""
    m, n = q.shape
    system = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return np.reshape(np.linalg.solve(system, np.ravel(q)), (m, n))


@pa.custom_jvp
def sqrtm(a):
    """The square root of a matrix by SciPy; y y = a gives y dy + dy y = da."""
    return scipy.linalg.sqrtm(a)


@sqrtm.defjvp
def sqrtm_jvp(primals, tangents):
    (a,), (da,) = primals, tangents
    y = sqrtm(a)
    return y, solve_sylvester(y, y, da)
