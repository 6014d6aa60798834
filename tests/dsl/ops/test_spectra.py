"""Eigenvalues and eigenvectors: where they are equal, and the phase that eigenvectors keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad import linalg


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, kind="real"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "complex" else x


def regular(seed, n, *lead, kind="real"):
    """Well-conditioned square matrices."""
    return random(seed, *lead, n, n, kind=kind) * 0.3 + 2.0 * np.eye(n)


def adjoint(x):
    return pa.conj(pa.matrix_transpose(x))


seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)
few = settings(max_examples=15)


def rebuilt(x):
    w, v = linalg.eigh(x)
    return (v * w) @ adjoint(v)


def test_c30_eigenvectors_of_equal_eigenvalues():
    """Finite. A rule of eigh knows only slopes by w and v, and at eye(2) those of `rebuilt` are also those of w and vᵀv, which
    do not depend on v; so the part inside the eigenspace cannot be told from them, and counts as 0."""
    with pytest.warns(pa.ConventionWarning, match="eigh: a derivative comes through vectors of equal values"):
        same(pa.grad(lambda x: pa.sum(rebuilt(x)))(np.eye(2)), np.eye(2))
    apart = np.diag([1.0, 1.0 + 1e-6])
    same(pa.grad(lambda x: pa.sum(rebuilt(x)))(apart), np.ones((2, 2)), rtol=1e-6)
    for x in (np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 2.0])):
        same(pa.grad(lambda x: pa.sum(linalg.eigh(x).eigenvalues))(x), np.eye(3))
        same(pa.grad(lambda x: pa.sum(linalg.eigvalsh(x)))(x), np.eye(3))
        whole = lambda v: pa.sum(random(1, 3, 3) * (v @ v.T))
        same(pa.grad(lambda x: whole(linalg.eigh(x).eigenvectors))(x), np.zeros((3, 3)))


def test_projection_onto_an_eigenspace():
    """Smooth where its eigenvalues are equal but apart from the others."""
    x, weights = np.diag([1.0, 1.0, 3.0]), random(2, 3, 3)

    def f(m):
        v = linalg.eigh((m + pa.matrix_transpose(m)) / 2)[1][:, :2]
        return pa.sum(weights * (v @ v.T))

    pa.check_grads(f, (x,), order=1)


@few
@given(seeds, sizes)
def test_eigenvectors_keep_their_phase(seed, n):
    """Length 1, and the largest element real, along any curve."""
    x, dx = regular(seed, n), random(seed + 1, n, n)
    (w, v), (dw, dv) = pa.jvp(linalg.eig, (x,), (dx,))
    pivots = np.abs(v).argmax(axis=0), np.arange(n)
    same(np.sum(v.conj() * dv, axis=0).real, np.zeros(n), atol=1e-6)
    same(dv[pivots].imag, np.zeros(n), atol=1e-6)
    same(x @ dv + dx @ v, dv * w + v * dw, rtol=1e-5, atol=1e-5)
    same(dw, pa.jvp(linalg.eigvals, (x,), (dx,))[1], atol=1e-6)
