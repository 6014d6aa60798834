"""Systems of equations: NumPy's rule of right-hand sides, triangles, inverses, and singular matrices."""

import importlib

import numpy as np
import pytest
import scipy.linalg
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


kinds = st.sampled_from(["real", "complex"])
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)
few = settings(max_examples=15)


def test_b4_solve_at_the_identity():
    b = np.array([1.0, 3.0])
    for solve in (linalg.solve, np.linalg.solve):
        same(pa.grad(lambda a, solve=solve: pa.sum(solve(a, b)))(np.eye(2)), [[-1, -3], [-1, -3]])
    same(pa.grad(lambda a: np.sum(np.linalg.solve(a, [1.0, 3.0])))(np.eye(2)), [[-1, -3], [-1, -3]])


@few
@given(seeds, sizes, kinds)
def test_solve_and_inverse(seed, n, kind):
    a, b = regular(seed, n, kind=kind), random(seed, n, kind=kind)
    same(a @ linalg.solve(a, b), b)
    same(linalg.inv(a) @ a, np.eye(n), atol=1e-9)
    pa.check_grads(linalg.solve, (a, b))
    pa.check_grads(lambda a: linalg.solve(a, a), (a,), order=1)  # constant
    same(pa.grad(lambda a: pa.real(pa.sum(linalg.inv(a) @ a)))(a), np.zeros((n, n)), atol=1e-9)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solve_triangular(monkeypatch, installed, lower, trans, unit_diagonal):
    a, b = regular(8, 3, kind="complex"), random(9, 3, 2, kind="complex")
    params = {"lower": lower, "trans": trans, "unit_diagonal": unit_diagonal}
    expected = scipy.linalg.solve_triangular(a, b, **params)
    if not installed:
        monkeypatch.setattr(importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    same(linalg.solve_triangular(a, b, **params), expected)
    same(linalg.solve_triangular(a, b[:, 0], **params), expected[:, 0])
    same(linalg.solve_triangular(np.stack([a, a]), b, **params), [expected] * 2)
    unread = np.triu(np.full((3, 3), np.nan), 1) if lower else np.tril(np.full((3, 3), np.nan), -1)
    same(linalg.solve_triangular(np.where(np.isnan(unread), unread, a), b, **params), expected)


def test_cho_solve():
    a, b = regular(10, 3, kind="complex"), random(11, 3)
    a = a @ a.conj().T
    for upper in (False, True):
        same(linalg.cho_solve(linalg.cholesky(a, upper=upper), b, lower=not upper), np.linalg.solve(a, b))


def test_right_hand_sides_by_numpys_rule():
    a, b = regular(21, 3, 2), random(22, 2, 3)
    assert linalg.solve(a, b[0]).shape == (2, 3)
    with pytest.raises(pa.ShapeError, match="solve"):
        linalg.solve(a, b)  # two rows of three are no columns of three
    loop = np.stack([np.linalg.solve(x, y) for x, y in zip(a, b, strict=True)])
    same(pa.vmap(linalg.solve)(a, b), loop)
    same(pa.vmap(linalg.solve, in_axes=(None, 0))(a[0], b), [np.linalg.solve(a[0], y) for y in b])
    same(pa.vmap(linalg.solve, in_axes=(0, None))(a, b[0]), linalg.solve(a, b[0]))


@pytest.mark.parametrize("f", [linalg.inv, linalg.solve, linalg.cholesky, lambda x: linalg.matrix_power(x, -1)])
def test_singular_matrices(f):
    call = (lambda x: f(x, np.ones(2))) if f is linalg.solve else f
    for caught in (np.linalg.LinAlgError, pa.PolyadError, pa.LinAlgError, linalg.LinAlgError, ValueError):
        with pytest.raises(caught, match=r"(solve|inv|cholesky)\(ndarray\(float64\[2, 2\]\)"):
            call(np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        pa.grad(lambda x: pa.sum(call(x)))(np.zeros((2, 2)))
