"""Tangents and cotangents brought to the spaces of their arrays: structures kept, zeros, and made dense."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.arrays import Diagonal

close = np.testing.assert_allclose


A = np.arange(9.0).reshape(3, 3) / 3 - 1


D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))


X = np.array([0.3, 1.2, 2.0])


@pytest.fixture(autouse=True)
def forget():
    """The rules that a test registers on operations of the library are gone after it."""
    yield
    for op in (pa.matmul, pa.sin, pa.sum, pa.multiply, pa.add, pa.exp, pa.concatenate, pa.softplus, pa.linalg.slogdet, pa.clip):
        op.generic.rules = None
        op.jvp._methods = op.vjp._methods = None
        op.generic.clear()


def loss(D, W):
    return pa.sum(pa.sin(D @ W))


def test_cotangents_are_projected_onto_the_structure():
    """Whatever form a rule gives its cotangents: dense, another structure, float64 of float32, complex of real."""
    expected = pa.grad(lambda D: loss(D, A))(D)
    forms = [
        lambda ct, a, b: ct @ b.mT,
        lambda ct, a, b: pa.Diagonal((ct @ b.mT)[[0, 1, 2], [0, 1, 2]]),
        lambda ct, a, b: pa.Tangent(Diagonal, [(ct @ b.mT)[[0, 1, 2], [0, 1, 2]]]),
        lambda ct, a, b: (ct @ b.mT) * (1 + 1j),
        lambda ct, a, b: pa.astype(ct @ b.mT, dtype=np.float64),
    ]
    for form in forms:
        pa.matmul.vjp.method(_annotated(lambda ct, y, a, b: (form(ct, a, b), None)))
        g = pa.grad(lambda D: loss(D, A))(D)
        assert type(g) is Diagonal and g.diag.dtype == np.float64
        close(g.diag, expected.diag)
        single = pa.grad(lambda D: loss(D, A.astype(np.float32)))(pa.Diagonal(D.diag.astype(np.float32)))
        assert single.diag.dtype == np.float32
        h = pa.hvp(lambda D: loss(D, A), D, D)
        assert type(h) is Diagonal


def _annotated(rule):
    def matmul_vjp(ct, y, a: Diagonal, b: pa.Array, /):
        return rule(ct, y, a, b)

    return matmul_vjp


@pytest.mark.parametrize("zero", [None, pa.NoTangent, pa.Zeros((3, 3))])
def test_symbolic_zeros(zero):
    pa.matmul.vjp.method(_annotated(lambda ct, y, a, b: (zero, zero)))
    gD, gW = pa.grad(loss, (0, 1))(D, A)
    assert type(gD) is Diagonal
    close(gD.diag, 0)
    close(gW, 0)

    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: pa.HostArray, /):
        return (zero if zero is None or zero is pa.NoTangent else pa.Zeros(x.shape),)

    close(pa.grad(lambda x: pa.sum(pa.sin(x) + x))(X), 1)


def test_structured_cotangents_of_dense_arrays_become_dense():
    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: np.ndarray, /):
        return (pa.Diagonal(pa.cos(x)[[0, 1, 2], [0, 1, 2]]),)

    g = pa.grad(lambda x: pa.sum(pa.sin(x)))(A)
    assert type(g) is np.ndarray
    close(g, np.diag(np.cos(np.diag(A))))
