"""What operations on stacks of matrices share: the dtype NumPy computes in, parts of matrices, and the checks."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ops import matrices


@pytest.mark.parametrize("dtype", ["?", "b", "u8", "f4", "f8", "F", "D"])
def test_the_dtype_of_numpys_linear_algebra(dtype):
    x = np.eye(2).astype(dtype)
    assert matrices.computed_dtype("solve", x) == np.linalg.inv(np.eye(2, dtype=dtype)).dtype
    for other in ("f4", "D", "i4"):
        assert (
            matrices.computed_dtype("solve", x, np.ones(2, other))
            == np.linalg.solve(np.eye(2, dtype=dtype), np.ones(2, other)).dtype
        )
    assert matrices.real_dtype(np.dtype(dtype)) == x.real.dtype
    assert matrices.as_inexact(x).dtype == (np.float64 if x.dtype.kind in "biu" else x.dtype)


@pytest.mark.parametrize("dtype", ["e", "g"])
def test_half_and_extended_precision_are_refused(dtype):
    with pytest.raises(pa.DTypeError, match=r"solve: .*\[2, 2\].*single or double precision is needed; convert with .astype"):
        matrices.computed_dtype("solve", np.eye(2, dtype=dtype), np.ones(2, np.float16))


def test_parts_of_matrices():
    x = np.random.default_rng(0).normal(size=(2, 3, 3)) + 1j * np.random.default_rng(1).normal(size=(2, 3, 3))
    for y in (x, x.real, x[:, :0, :0]):
        np.testing.assert_array_equal(matrices.adjoint(y), y.conj().swapaxes(-1, -2), strict=True)
        np.testing.assert_array_equal(matrices.hermitian_part(y), (y + y.conj().swapaxes(-1, -2)) / 2)
        np.testing.assert_array_equal(matrices.strict_lower(y), np.tril(y, -1), strict=True)


def test_columns_and_lanes():
    b = np.ones((2, 3))
    assert matrices.as_columns(b[0]).shape == (3, 1) and matrices.as_columns(b) is b
    assert matrices.as_columns(b, 1).shape == (2, 3, 1) and matrices.without_last(np.ones((2, 1))).shape == (2,)
    assert matrices.pad_lanes(b, True, 3).shape == (2, 1, 1, 3) and matrices.pad_lanes(b, False, 3) is b


def test_checks():
    matrices.check_square("inv", np.ones((5, 0, 0)))
    with pytest.raises(pa.ShapeError, match=r"inv: .*\[3\].* is no matrix"):
        matrices.check_square("inv", np.ones(3))
    with pytest.raises(pa.ShapeError, match=r"inv: .*\[2, 3\].* is not square; .*lstsq"):
        matrices.check_square("inv", np.ones((2, 3)))
    rule = matrices.lanes_lead(pa.linalg.inv)
    with pytest.raises(pa.ShapeError, match=r"inv: each lane of shape \[3\] is no matrix"):
        rule(3, [np.ones((3, 3))], [True])
    np.testing.assert_array_equal(rule(2, [np.stack([np.eye(3)] * 2)], [True]), np.stack([np.eye(3)] * 2))
