"""Factors of matrices: singular values that are equal."""

import numpy as np
import pytest
import scipy.linalg

import polyad as pa
from polyad import linalg, testing


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, kind="real"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "complex" else x


def adjoint(x):
    return pa.conj(pa.matrix_transpose(x))


def polar_factor(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return u @ vh


def of_size(kind, values, m, n):
    """A matrix with these singular values and random vectors."""
    u, v = [np.linalg.qr(random(seed, k, k, kind=kind))[0] for seed, k in ((4, m), (5, n))]
    return u[:, : len(values)] @ np.diag(values) @ v[: len(values)]


TIES = [([1, 1, 1], 3, 3), ([3, 3, 0.5, 0.5], 4, 4), ([2, 2, 2], 5, 3), ([2, 2, 1], 3, 5), ([1e-3, 1e-3], 2, 2)]


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize(("values", "m", "n"), TIES)
def test_polar_factor_at_equal_singular_values(values, m, n, kind):
    """Smooth where the smaller side has full rank, whatever the singular values are."""
    x, weights = of_size(kind, values, m, n), random(6, m, n, kind=kind)
    f = lambda x: pa.real(pa.sum(weights * polar_factor(x)))
    factor = lambda x: scipy.linalg.polar(x, side="left" if m < n else "right")[0]
    reference = lambda x: np.real(np.sum(weights * factor(x)))
    h, d = 1e-5 * min(values), random(7, m, n, kind=kind)
    slope = (reference(x + h * d) - reference(x - h * d)) / (2 * h)
    bounds = {"rtol": 1e-6, "atol": 1e-6 * max(1, abs(slope))}
    same(np.real(np.sum(pa.grad(f)(x) * d)), slope, **bounds)
    same(pa.jvp(f, (x,), (d,))[1], slope, **bounds)
    stack = np.stack([x, 2 * x])
    same(pa.vmap(pa.grad(f))(stack)[0], pa.grad(f)(x))
    same(pa.jit(pa.grad(f))(x), pa.grad(f)(x), atol=1e-9)
    same(pa.grad(lambda x: pa.sum(pa.vmap(f)(x)))(stack)[1], pa.grad(f)(x) / 2)


def test_orthogonal_matrices_that_stay_so():
    """At the identity the gradient of the nearest orthogonal matrix is the antisymmetric part; at others the same, turned."""
    for dtype, rtol in ((np.float64, 1e-10), (np.float32, 1e-4)):
        w, q = random(8, 3, 3).astype(dtype), np.linalg.qr(random(9, 3, 3))[0].astype(dtype)
        found = pa.grad(lambda x: pa.sum(w * polar_factor(x)))
        for c in (1, 4):
            same(found(np.eye(3, dtype=dtype) * dtype(c)), (w - w.T) / 2 / c, rtol=rtol, atol=rtol)
        same(found(q), q @ (q.T @ w - w.T @ q) / 2, rtol=rtol, atol=rtol)
        assert found(q).dtype == dtype
    same(pa.grad(lambda x: pa.sum(polar_factor(x)))(np.zeros((2, 2))), np.zeros((2, 2)))


def test_products_of_the_factors_at_ties():
    """Functions of the singular vectors that do not see the common turn: projections on both sides, and what maps one to the
    other; and the phase of a pair."""
    x, weights = of_size("complex", [2, 2, 1], 4, 4), random(10, 4, 4, kind="complex")

    def f(x):
        u, _, vh = linalg.svd(x)
        first, both = u[:, :2] @ adjoint(u[:, :2]), u[:, :2] @ vh[:2]
        return pa.real(pa.sum(weights * (first + 2 * both + adjoint(vh[:2]) @ vh[:2]))) + pa.sum(linalg.svdvals(x) ** 2)

    pa.check_grads(f, (of_size("complex", [2, 2, 1, 0.5], 4, 4),), order=1)
    pa.check_grads(f, (x,), order=1)


def hermitian(make):
    """A card of functions of the Hermitian part."""
    return pa.composite(kernel=None, numpy=(), samples=())(make)


@hermitian
def factor(x, /, upper=False):
    return linalg.cholesky(x @ adjoint(x) + 2.0 * np.eye(3), upper=upper)


@hermitian
def singular(x, /):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return s, (u * pa.exp(pa.expand_dims(s, -2))) @ vh


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3)])
def test_rules_of_complex_singular_vectors(shape):
    testing.check_rule(singular, random(6, *shape, kind="complex"))
