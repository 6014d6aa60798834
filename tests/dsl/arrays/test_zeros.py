"""Zeros stay zeros where they can; what they are with others."""

import numpy as np
import pytest

import polyad as pa

A = np.arange(9.0).reshape(3, 3) / 3 - 1
D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))
Z = pa.Zeros((3, 3))
H = pa.OneHot(np.array([2, 0, 1]), 3)


@pytest.fixture(autouse=True)
def strict():
    """Nothing becomes dense behind our back; tests that mean it say so."""
    with pa.densify("error"):
        yield


def same(found, expected):
    found = found.dense() if isinstance(found, pa.Container) else found
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert np.shape(found) == np.shape(expected)


def test_zeros():
    assert type(np.sin(Z)) is type(Z + Z) is type(Z.T) is type(Z.sum(axis=0)) is type(Z[0]) is type(Z.reshape(9)) is pa.Zeros
    assert type(pa.concatenate([Z, Z])) is type(pa.stack([Z, Z], axis=1)) is pa.Zeros
    assert type(Z @ Z) is type(A @ Z) is type(D @ Z) is type(Z @ H) is type(pa.mean(Z, axis=0)) is pa.Zeros
    assert pa.prod(Z) == pa.sum(Z) == Z[0, 0] == Z[0] @ A[0] == 0.0
    same(np.cos(Z), np.ones((3, 3)))
    same(Z + A, A)
    same(A[0] - Z, np.broadcast_to(A[0], (3, 3)))
    same(pa.maximum(Z, A), np.maximum(0, A))
    assert (pa.Zeros(3, np.float32) * np.ones(3)).dtype == np.float64
    assert (pa.Zeros(3, np.float32) * 2.0).dtype == np.float32
    assert repr(pa.Zeros(3)) == "Zeros((3,), float64)"


def test_quotient_of_zeros():
    """FillArrays#116: Zeros ./ Zeros was ambiguous; it is NaN."""
    with np.errstate(invalid="ignore"):
        assert np.isnan(Z / Z).all()
