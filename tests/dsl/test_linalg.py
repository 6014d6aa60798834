"""`polyad.linalg` under NumPy's names: conditions, diagonals and traces of the last axes, and errors where LAPACK gives up."""

import numpy as np
import pytest

import polyad as pa

RNG = np.random.default_rng(6)
STACK = RNG.standard_normal((3, 4, 4)) + 4 * np.eye(4)
WIDE = RNG.standard_normal((2, 3, 5))


def test_its_names_are_there_and_numpys_are_among_them():
    numpys = {name for name in np.linalg.__all__ if name != "LinAlgError"}
    assert numpys <= set(pa.linalg.__all__)
    assert all(hasattr(pa.linalg, name) for name in pa.linalg.__all__)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers(p):
    np.testing.assert_allclose(pa.linalg.cond(STACK, p), np.linalg.cond(STACK, p), rtol=1e-10)
    if p in (None, 2, -2):  # of singular values alone: any shape
        np.testing.assert_allclose(pa.linalg.cond(WIDE, p), np.linalg.cond(WIDE, p), rtol=1e-10)


@pytest.mark.parametrize("offset", [-2, 0, 1, 3])
def test_diagonals_and_traces_are_of_the_last_axes(offset):
    np.testing.assert_array_equal(pa.linalg.diagonal(WIDE, offset=offset), np.linalg.diagonal(WIDE, offset=offset))
    np.testing.assert_allclose(pa.linalg.trace(WIDE, offset=offset), np.linalg.trace(WIDE, offset=offset), rtol=1e-14)
    found = pa.grad(lambda x: pa.sum(pa.linalg.trace(x, offset=offset)))(WIDE)
    np.testing.assert_array_equal(found, np.broadcast_to(np.eye(3, 5, offset), WIDE.shape))


def test_condition_numbers_of_singular_matrices():
    for p in (None, -2, 1, "fro"):
        assert np.isinf(pa.linalg.cond(np.zeros((2, 2)), p))
        assert np.isinf(pa.linalg.cond(np.diag([1.0, 0.0]), p)) or p == -2
    with pytest.raises(pa.ShapeError, match="cond: .* has no elements"):
        pa.linalg.cond(np.zeros((0, 2)))
    with pytest.raises(pa.ShapeError, match="cond"):
        pa.linalg.cond(WIDE, 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.svd(x, compute_uv=False),
        lambda x: np.linalg.svd(x, full_matrices=False)[1],
        lambda x: abs(np.linalg.qr(x, mode="r")),
        lambda x: np.linalg.qr(x)[0] ** 2,
        lambda x: np.linalg.pinv(x),
        lambda x: x * np.linalg.matrix_rank(x, tol=3.0),
        lambda x: np.linalg.cond(x, 1),
    ],
)
def test_numpys_own_functions_on_followed_values(f):
    """The values of lanes are those of NumPy, and the slope along a direction is a difference of NumPy's values."""
    np.testing.assert_allclose(pa.vmap(f)(STACK), np.stack([f(x) for x in STACK]), rtol=1e-10, atol=1e-12)
    x, dx, h = STACK[0], WIDE[0, :1, :4] * np.ones((4, 1)), 1e-6
    _, slope = pa.jvp(f, (x,), (dx,))
    np.testing.assert_allclose(slope, (f(x + h * dx) - f(x - h * dx)) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bound", [{"rcond": 0.5}, {"rtol": 0.5}, {}])
def test_the_bound_of_singular_values(bound):
    """Left out where it is given, and otherwise as small as NumPy's."""
    x = np.diag([1.0, 0.4, 1e-15 * 3, 1e-16])
    found = pa.vmap(lambda x: np.linalg.pinv(x, **bound))(x[None])[0]
    np.testing.assert_allclose(found, np.linalg.pinv(x, **bound), rtol=1e-12)
