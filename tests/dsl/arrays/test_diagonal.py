"""Diagonal stays diagonal where it can, and what becomes dense has the values of the dense form."""

import numpy as np
import pytest

import polyad as pa

A = np.arange(9.0).reshape(3, 3) / 3 - 1
D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))
E = pa.Diagonal(np.array([1.5, 0.25, -0.5]))
B = pa.Diagonal(np.arange(6.0).reshape(2, 3))
Z = pa.Zeros((3, 3))


@pytest.fixture(autouse=True)
def strict():
    """Nothing becomes dense behind our back; tests that mean it say so."""
    with pa.densify("error"):
        yield


def same(found, expected):
    found = found.dense() if isinstance(found, pa.Container) else found
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda: D + E, lambda: D - E, lambda: D @ E, lambda: D * E, lambda: -D, lambda: +D, lambda: abs(D),
        lambda: 2 * D, lambda: D * 2, lambda: D / 2, lambda: D * np.float32(2), lambda: np.float64(2) * D,
        lambda: np.array(2.0) * D, lambda: D * A, lambda: A * D, lambda: D * A[0], lambda: D * A[:, :1],
        lambda: D / (A + 9), lambda: D**2, lambda: abs(D)**0.5, lambda: D.T, lambda: D.mT, lambda: np.sin(D),
        lambda: np.tanh(D), lambda: pa.sqrt(abs(D)).copy(), lambda: D.astype(np.float32), lambda: D.real,
        lambda: D.conj(), lambda: np.isnan(D), lambda: D != E, lambda: D < E,
        lambda: pa.stop_gradient(D), lambda: pa.maximum(D, E), lambda: Z + D, lambda: D - Z, lambda: np.multiply(D, A),
        lambda: B @ B, lambda: B + D, lambda: B * 2, lambda: B.mT, lambda: B[0], lambda: B[1:], lambda: B[None],
        lambda: B.sum(axis=0), lambda: B.reshape(2, 1, 3, 3), lambda: pa.stack([D, E]), lambda: pa.concatenate([B, B]),
        lambda: pa.broadcast_to(D, shape=(4, 3, 3)), lambda: pa.expand_dims(D, 0), lambda: next(iter(B)),
        lambda: pa.mean(B, axis=0),
    ],
)  # fmt: skip
def test_diagonal_stays_diagonal(f):
    assert type(f()) is pa.Diagonal


def test_dense_results():
    same(D @ A, np.diag(D.diag) @ A)
    same(A @ D, A @ np.diag(D.diag))
    same(A[0] @ D, A[0] @ np.diag(D.diag))
    same(D @ A[0], np.diag(D.diag) @ A[0])
    same(B @ A, B.dense() @ A)
    same(A[0] @ B, A[0] @ B.dense())
    same(D + A, np.diag(D.diag) + A)
    same(A - D, A - np.diag(D.diag))
    for axis in (None, 0, 1, (0, 2), (-1, -2), (0, 1, 2)):
        for keepdims in (False, True):
            same(B.sum(axis=axis, keepdims=keepdims), B.dense().sum(axis=axis, keepdims=keepdims))
    same(D[[0, 1, -1], [0, 2, 2]], np.array([0.5, 0.0, 2.0]))
    same(D[0, [0, 1]], np.array([0.5, 0.0]))
    assert (D[0, 0], D[-1, 2], D[0, 1], D[1, -3]) == (0.5, 2.0, 0.0, 0.0)
    same(B[1, 2, 2], 5.0)
    same(B[:, 1, 1], B.dense()[:, 1, 1])
    with pa.densify("allow"):
        same(D == E, np.diag(D.diag) == np.diag(E.diag))
        same(np.cos(D), np.cos(np.diag(D.diag)))
        same(D + 1, np.diag(D.diag) + 1)
        same(D[1:], np.diag(D.diag)[1:])
        same(np.asarray(D), np.diag(D.diag))


@pytest.mark.parametrize("index", [(3, 0), (0, 3), (-4, 0), ([0], [3])])
def test_index_out_of_range(index):
    with pytest.raises(IndexError):
        D[index]


def test_gradient_of_an_entry_off_the_diagonal():
    """Zygote.jl#402 (case E10): a Diagonal of zeros."""
    g = pa.grad(lambda D: D[1, 0])(pa.Diagonal(np.array([1.0, 2.0, 3.0])))
    assert type(g) is pa.Diagonal
    same(g.diag, np.zeros(3))


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_two_uses_of_a_diagonal_accumulate(scale):
    """Zygote.jl#1586 (case E12): vᵀDv + (v-x)ᵀD(v-x)."""
    v, x = np.ones(3), scale * np.ones(3)
    f = lambda D, x: v.T @ D @ v + (v - x).T @ D @ (v - x)
    gD, gx = pa.grad(f, (0, 1))(pa.Diagonal(np.ones(3)), x)
    assert type(gD) is pa.Diagonal
    same(gD.diag, v**2 + (v - x) ** 2)
    same(gx, 2 * (x - v))
