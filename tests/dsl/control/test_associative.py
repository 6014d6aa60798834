"""Associative scans against a loop, of functions that do not commute."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse, rng):
    a, b = rng.standard_normal((2, n, 3))
    affine = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])  # not commutative
    fa, fb = pa.associative_scan(affine, (a, b), reverse=reverse)
    order = range(n)[:: -1 if reverse else 1]
    total = None
    for i in order:
        total = (a[i], b[i]) if total is None else affine(total, (a[i], b[i]))
        close(fa[i], total[0])
        close(fb[i], total[1])
    m = rng.standard_normal((n, 2, 2)) * 0.5
    products = pa.associative_scan(pa.matmul, m)
    close(products[-1], np.linalg.multi_dot([*m, np.eye(2)]) if n > 1 else m[0])
    along = pa.associative_scan(pa.add, a, reverse=reverse, axis=1)
    close(along, np.cumsum(a[:, ::-1], axis=1)[:, ::-1] if reverse else np.cumsum(a, axis=1))
