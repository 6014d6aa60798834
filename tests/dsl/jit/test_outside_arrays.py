"""Arrays from outside: what NumPy computes of them alone, and views of them."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
x3 = np.array([1.0, -2.0, 3.0])


def test_what_numpy_computes_of_arrays_from_outside():
    w, b = np.ones(3), np.zeros(3)
    f = pa.jit(lambda x: x @ (w * 2) + float(w.mean()) + w.T[1:] @ x[1:] + np.sum(b**2))
    plain = f.__wrapped__
    close(f(x3), plain(x3))
    for _ in range(3):
        w, b = w + 1.0, b - 1.0
        close(f(x3), plain(x3))
        close(f(x3), plain(x3))
    b[0] = 5.0
    close(f(x3), plain(x3))
    with pytest.warns(
        pa.PerformanceWarning, match="NumPy alone compute something of w, which changes again and again; make it an argument"
    ):
        for _ in range(10):
            w = w + 1.0
            close(f(x3), plain(x3))


def test_views_of_arrays_from_outside():
    w = np.arange(9.0).reshape(3, 3)
    f = pa.jit(lambda x: w.T @ x + w[0] + w[:, 1:].T[0] + np.broadcast_to(w[2:, 2], (3,)))
    for _ in range(12):
        close(f(x3), f.__wrapped__(x3))
        w[1] += 1.0
        close(f(x3), f.__wrapped__(x3))
        w = w * 1.5
