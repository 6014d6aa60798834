"""Determinants where they vanish and where they overflow: slopes by cofactors."""

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


def test_b2_det_at_a_triangular_matrix():
    a = np.array([[1, 0, 0], [0, 2, 0], [0, np.pi, 3]])
    same(pa.grad(linalg.det)(a), [[6, 0, 0], [0, 3, -np.pi], [0, 0, 2]])


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_det_of_singular_matrices(rank):
    """A polynomial, with the cofactors as slopes and the same for the second derivative."""
    x = random(3, 4, rank) @ random(4, rank, 4)
    minors = np.array([[np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(4)] for i in range(4)])
    signs = (-1.0) ** np.add.outer(np.arange(4), np.arange(4))
    same(pa.grad(linalg.det)(x), minors * signs, atol=1e-10)
    same(linalg.adjugate(x), (minors * signs).T, atol=1e-10)
    pa.check_grads(linalg.det, (x,), order=2, atol=1e-5)


def test_slogdet_where_det_overflows():
    x = np.eye(200) * 1e10
    sign, logabsdet = linalg.slogdet(x)
    assert sign == 1 and np.isfinite(logabsdet)
    same(pa.grad(lambda x: linalg.slogdet(x).logabsdet)(x), np.eye(200) * 1e-10)
    same(linalg.slogdet(np.zeros((2, 2))), (0, -np.inf))
    with pytest.raises(np.linalg.LinAlgError):
        pa.grad(lambda x: linalg.slogdet(x).logabsdet)(np.zeros((2, 2)))
