"""`polyad.linalg`: linear algebra under the names of `numpy.linalg` and of the array API's extension of that name.

Everything takes stacks of matrices (leading axes), complex numbers, and integers (computed in double precision). Functions with
several results return named tuples as NumPy's do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch import LinAlgError, ShapeError, describe
from .avals import dtype_of
from .numpy_calls.protocol import answer, register
from .ops.arithmetic import divide, multiply
from .ops.compare import equal, where
from .ops.complex import stop_gradient
from .ops.create import eye_like
from .ops.determinants import SlogdetResult, adjugate, det, slogdet
from .ops.factorize import LUResult, QRResult, SVDResult, cholesky, lu, qr, svd, svdvals
from .ops.linalg import matmul, outer, vecdot
from .ops.matrices import check_matrix, check_square
from .ops.norms import matrix_norm, norm, vector_norm
from .ops.powers import expm, matrix_power, multi_dot
from .ops.products import cross, tensordot
from .ops.pseudoinverse import LstsqResult, lstsq, matrix_rank, pinv
from .ops.rearrange import diagonal as diagonal_of_axes
from .ops.rearrange import trace as trace_of_axes
from .ops.shape import matrix_transpose
from .ops.solve import cho_solve, inv, solve, solve_triangular, tensorinv, tensorsolve
from .ops.spectra import EighResult, EigResult, eig, eigh, eigvals, eigvalsh

if TYPE_CHECKING:
    from ..dispatch.annotations import AnyArray
__all__ = [
    "EigResult", "EighResult", "LUResult", "LinAlgError", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult",
    "adjugate", "cho_solve", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "expm", "inv", "lstsq", "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def diagonal(x: Any, /, *, offset: Any = 0) -> AnyArray:
    """The diagonal of each matrix, `offset` places above the main one: shape (…, m, n) to (…, length). Raises ShapeError."""
    check_matrix("diagonal", x)
    return diagonal_of_axes(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> AnyArray:
    """Sum of the diagonal of each matrix, `offset` places above the main one. dtype: of the sum. Raises ShapeError."""
    check_matrix("trace", x)
    return trace_of_axes(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def cond(x: Any, /, p: Any = None) -> AnyArray:
    """Condition number of matrices with respect to inversion, shape (…, m, n) to (…): norm(x) * norm(inv(x)).

    p: order of the norm, see `matrix_norm`; None for 2, which takes all shapes (ratio of the largest and the smallest singular
    value). inf for singular matrices, a matrix of zeros among them; NaN where x has one. Raises ShapeError.
    """
    check_matrix("cond", x)
    if 0 in x.shape[-2:]:
        raise ShapeError(f"cond: {describe(x)} has no elements, hence no condition number")
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = (0, -1) if p != -2 else (-1, 0)
        first, last, none = s[..., first], s[..., last], equal(s[..., 0], 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return where(none, np.inf, divide(first, where(none, 1.0, last)))
    check_square("cond", x)
    singular = equal(slogdet(stop_gradient(x)).sign, 0)  # as exactly as inv has it
    size = matrix_norm(x, ord=p)
    regular = where(singular[..., None, None], eye_like(x, x.shape[-1], dtype=dtype_of(x)), x)
    return multiply(where(equal(size, 0), 1.0, size), where(singular, np.inf, matrix_norm(inv(regular), ord=p)))


# ---------------------------------------------------------------------- NumPy's own functions
def numpy_svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """np.linalg.svd; `hermitian` is a hint for speed that is not needed."""
    return svd(a, full_matrices=full_matrices) if compute_uv else svdvals(a)


def numpy_qr(a, mode="reduced"):
    """np.linalg.qr."""
    return qr(a).R if mode == "r" else qr(a, mode=mode)


def numpy_pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    """np.linalg.pinv, whose bound is 1e-15 unless given."""
    return pinv(a, rtol=rcond if rcond is not None else 1e-15 if rtol is np._NoValue else rtol)


def numpy_matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """np.linalg.matrix_rank."""
    return matrix_rank(A, rtol=rtol, tol=tol)


def numpy_cond(x, p=None):
    """np.linalg.cond."""
    return cond(x, p)


for function in (numpy_svd, numpy_qr, numpy_pinv, numpy_matrix_rank, numpy_cond):
    answer(function, function.__name__.replace("numpy_", "linalg."))
for function in (diagonal, trace):
    answer(function, f"linalg.{function.__name__}")
for function in (cross, matmul, matrix_transpose, outer, tensordot, vecdot):
    register(function, f"linalg.{function.__name__}")
