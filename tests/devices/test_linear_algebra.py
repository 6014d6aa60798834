"""Kernels of linear algebra that a NumPy-like library lacks: values, dtypes and shapes, with SciPy and without."""

import numpy as np
import pytest
import scipy.linalg

import polyad as pa
from polyad.devices.linear_algebra import linear_algebra_kernels

pytestmark = pytest.mark.quick

K, BARE = linear_algebra_kernels(np, "scipy.linalg"), linear_algebra_kernels(np, "no_such_library")


@pytest.fixture
def matrix(rng):
    return lambda *lead, n=4, dtype="D": (rng.normal(size=(*lead, n, n)) + 1j * rng.normal(size=(*lead, n, n))).astype(dtype)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("kernels", [K, BARE], ids=["SciPy", "bare"])
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_triangular_systems(matrix, kernels, dtype, lead):
    """Only the triangle that is meant is read; for few dimensions SciPy solves, otherwise the library."""
    a, b = matrix(*lead, dtype=dtype), matrix(*lead, dtype=dtype)[..., :3]
    for lower in (False, True):
        for unit in (False, True):
            full = np.tril(a, -unit) if lower else np.triu(a, unit)
            full = full + unit * np.eye(4, dtype=dtype)
            turned = {0: full, 1: np.swapaxes(full, -1, -2), 2: np.conj(np.swapaxes(full, -1, -2))}
            for trans, m in turned.items():
                for t in (trans, "NTC"[trans]):
                    x = kernels["solve_triangular"](a, b, t, lower, unit)
                    assert x.dtype == dtype
                    np.testing.assert_allclose(m @ x, b, atol=1e-10 if dtype in "dD" else 1e-3)


def test_triangular_systems_of_nothing_and_of_zeros():
    for kernels in (K, BARE):
        assert kernels["solve_triangular"](np.eye(2), np.ones((2, 0))).shape == (2, 0)
        with pytest.raises(np.linalg.LinAlgError):
            kernels["solve_triangular"](np.zeros((2, 2)), np.ones(2))


@pytest.mark.parametrize("dtype", ["f", "d", "i", "?"])
def test_eigenvalues_are_complex(dtype):
    """Also where all of them are real, which NumPy gives as such."""
    a = np.diag([1, 1, 0]).astype(dtype)
    w, v = K["eig"](a)
    assert w.dtype == v.dtype == K["eigvals"](a).dtype == np.result_type(np.linalg.eigvals(a), np.complex64)
    np.testing.assert_allclose(np.sort(w.real), [0, 1, 1])
    np.testing.assert_allclose(a @ v, v * w, atol=1e-6)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["d", "D"])
def test_adjugates_are_the_matrix_of_cofactors(matrix, rank, dtype):
    """Of singular matrices, too, where they are no inverses times determinants."""
    u, _, v = np.linalg.svd(matrix(n=3, dtype=dtype) if dtype == "D" else matrix(n=3).real)
    a = (u * (np.arange(3) < rank)) @ v
    found, minor = K["adjugate"](a), lambda i, j: np.delete(np.delete(a, j, 0), i, 1)
    for i, j in np.ndindex(3, 3):
        np.testing.assert_allclose(found[i, j], (-1) ** (i + j) * np.linalg.det(minor(i, j)), atol=1e-12)


def test_pseudoinverses_take_the_bound_of_the_standard():
    """max(m, n) times the rounding error, of the largest one; NumPy's own default is another."""
    for dtype in "df":
        for factor, kept in ((2.5, False), (3.5, True)):
            a = np.diag([1.0, factor * np.finfo(dtype).eps, 0.0]).astype(dtype)
            assert (K["pinv"](a)[1, 1] > 1) == kept and K["pinv"](a, 0.5)[1, 1] == 0
    assert K["pinv"](np.diag([1, 0]))[0, 0] == 1  # whole numbers, by their rounding errors in single precision


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (2, 4, 3)])
def test_lu_puts_the_matrix_together(rng, shape):
    a = rng.normal(size=shape)
    p, lower, upper = K["lu"](a)
    np.testing.assert_allclose(p @ lower @ upper, a, atol=1e-13)
    assert (np.triu(lower, 1) == 0).all() and (np.tril(upper, -1) == 0).all() and (abs(lower) <= 1).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 2, 2)])
def test_lu_of_nothing(shape):
    p, lower, upper = BARE["lu"](np.zeros(shape, "f"))  # without SciPy, whose shapes are others
    k = min(shape[-2:])
    assert (p.shape, lower.shape, upper.shape) == (
        (*shape[:-2], shape[-2], shape[-2]), (*shape[:-2], shape[-2], k), (*shape[:-2], k, shape[-1]),
    )  # fmt: skip
    assert {x.dtype for x in (p, lower, upper)} == {np.dtype("f")}
    np.testing.assert_array_equal(p, np.broadcast_to(np.eye(shape[-2]), p.shape))


@pytest.mark.parametrize("name", ["lu", "expm"])
def test_what_only_scipy_has(name):
    with pytest.raises(ImportError, match=rf"{name}: its kernel is no_such_library\.{name}, and No module .*; install scipy"):
        BARE[name](np.eye(2))
    a = np.array([[0.0, 1.0], [2.0, 3.0]])
    for x in (a.astype(">d"), a.astype("i")):  # SciPy itself refuses the one order of bytes, or computes in another dtype
        found, wanted = K[name](x), getattr(scipy.linalg, name)(a)
        for y, right in zip(found, wanted, strict=True):
            assert y.dtype.isnative and y.dtype == float
            np.testing.assert_allclose(y, right, rtol=1e-12)


def test_results_have_names():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert K["slogdet"](a).logabsdet == np.linalg.slogdet(a)[1] and K["qr"](a, mode="complete").R.shape == (2, 2)
    assert K["svd"](a, full_matrices=False).S.shape == K["eigh"](a).eigenvalues.shape == (2,)
    for name in ("slogdet", "qr", "svd", "eigh", "eig"):
        assert type(K[name](a)) is type(getattr(pa.linalg, name)(a))
