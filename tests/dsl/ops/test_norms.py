"""Norms of vectors and matrices: NumPy's values, slope 0 at zero."""

import numpy as np
import pytest

import polyad as pa
from polyad import linalg


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, kind="real"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "complex" else x


@pytest.mark.parametrize("norm", [linalg.norm, linalg.vector_norm, np.linalg.norm])
def test_c10_norm_at_zero(norm):
    for f in (lambda x: norm(x), lambda x: norm(x) ** 2, lambda x: pa.exp(-(norm(x) ** 2))):
        same(pa.grad(f)(np.zeros(2)), np.zeros(2))
        same(pa.jacfwd(f)(np.zeros(2)), np.zeros(2))


vector_orders = [None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf]
matrix_orders = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_are_numpys(kind, keepdims):
    x = random(17, 2, 3, 4, kind=kind)
    for axis in (0, 1, -1):
        for p in vector_orders:
            same(linalg.norm(x, p, axis, keepdims), np.linalg.norm(x, p, axis, keepdims))
    for axis in ((0, 1), (2, 0), (-1, -2)):
        for p in matrix_orders:
            same(linalg.norm(x, p, axis, keepdims), np.linalg.norm(x, p, axis, keepdims))
    for p in matrix_orders[1:]:
        same(linalg.matrix_norm(x, ord=p, keepdims=keepdims), np.linalg.matrix_norm(x, ord=p, keepdims=keepdims))
    for axis in (None, 1, (0, 2)):
        for p in vector_orders[1:]:
            same(
                linalg.vector_norm(x, axis=axis, ord=p, keepdims=keepdims),
                np.linalg.vector_norm(x, axis=axis, ord=p, keepdims=keepdims),
            )
    same(linalg.norm(x, keepdims=keepdims), np.linalg.norm(x, keepdims=keepdims))


def test_norms_at_zero_have_slope_zero():
    for p in (None, 1, 2, 3, np.inf):
        g = pa.grad(lambda x, p=p: linalg.norm(x, ord=p))(np.zeros(3))
        same(g, np.zeros(3))
    for p in matrix_orders[:-1]:
        if p not in (-1, -2):
            same(pa.grad(lambda x, p=p: linalg.norm(x, ord=p))(np.zeros((2, 3))), np.zeros((2, 3)))
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    same(pa.grad(lambda x: pa.sum(linalg.norm(x, axis=1)))(rows), [[0, 0], [0.6, 0.8]])
    assert np.isnan(linalg.norm(np.array([1.0, np.nan])))


def test_the_norm_of_half_precision_numbers_does_not_overflow():
    x = np.full(9, 100, np.float16)
    for f in (pa.linalg.norm, pa.linalg.vector_norm, lambda x: pa.linalg.matrix_norm(x.reshape(3, 3))):
        assert f(x) == 300 and f(x).dtype == np.float16
        for g in (pa.grad(f)(x), pa.jit(pa.grad(f))(x)):
            np.testing.assert_allclose(g, np.full(9, 1 / 3), rtol=1e-3)
