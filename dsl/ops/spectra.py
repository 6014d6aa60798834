"""Eigenvalues and eigenvectors of Hermitian and of general matrices, each for stacks of matrices.

Of eigenvectors only what does not depend on their choice has a meaning: their sign or phase, and for equal eigenvalues the
basis of the space they span. A turn within that space counts as 0 in derivatives.
"""

from typing import NamedTuple

import numpy as np

from ...dispatch import ShapeError
from ..avals import Aval, shape_of
from ..card import opaque
from ..samples import case, complex_normal, normal
from .arithmetic import divide, multiply, square, subtract
from .compare import equal, logical_and
from .complex import abs, astype, conj, imag, real
from .create import eye_like
from .factorize import reciprocal_gaps
from .linalg import matmul
from .matrices import adjoint, check_square, computed_dtype, hermitian_part, lanes_lead, real_dtype
from .reduce import max, sum
from .shape import matrix_transpose
from .solve import solve
from .ties import counted, lost_back, through_ties, tied_pairs, unsymmetric

HERMITIAN = {"samples": "the matrices and their tangents must be Hermitian; tests/dsl/ops/test_linalg.py composes it with that"}


# ---------------------------------------------------------------------- Hermitian matrices
class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: object
    eigenvectors: object


@opaque(home="linalg", raises=True, no_rule=HERMITIAN)
def eigh(x, /, UPLO="L"):
    """Eigenvalues and eigenvectors of Hermitian matrices, as the named tuple (eigenvalues, eigenvectors).

    x: shape (…, n, n), of which only one triangle is read: UPLO "L" for the lower, "U" for the upper one. eigenvalues: shape
    (…, n), real, ascending; eigenvectors: shape (…, n, n), orthonormal columns. The derivative is that along Hermitian
    matrices: a tangent counts by its Hermitian part, and cotangents of x are Hermitian (symmetric for real x), whichever
    triangle is read. Raises ShapeError.

    Equal eigenvalues (up to rounding): derivatives are finite. They are right for what does not depend on the basis of the
    space that belongs to them nor on how it splits, such as the sum of the eigenvalues or the projection onto all of it. Of
    functions of both, such as (v * h(w)) @ v.T, the slope between equal eigenvalues is lost, with a ConventionWarning.
    """


@opaque(home="linalg", raises=True, no_rule=HERMITIAN)
def eigvalsh(x, /, UPLO="L"):
    """Eigenvalues of Hermitian matrices, shape (…, n, n) to (…, n), real, ascending. UPLO and derivative as for `eigh`.

    Raises ShapeError.
    """


@eigh.rule("shape")
def eigh_shape(x, UPLO="L"):
    return EighResult(_values("eigh", x, UPLO), Aval(x.shape, computed_dtype("eigh", x)))


@eigvalsh.rule("shape")
def eigvalsh_shape(x, UPLO="L"):
    return _values("eigvalsh", x, UPLO)


def _values(name, x, UPLO):
    check_square(name, x)
    if UPLO not in ("L", "U", "l", "u"):
        raise ShapeError(f"{name}: UPLO={UPLO!r} is neither 'L' nor 'U'")
    return Aval(x.shape[:-1], real_dtype(computed_dtype(name, x)))


@eigh.rule("lost_back")
def eigh_lost_back(cts, y, x, UPLO="L"):
    (ct, ct_v), (w, v) = cts, y
    turn = lambda: unsymmetric(matmul(matrix_transpose(v), ct_v), ct_v)
    return lost_back(tied_pairs(w), ct, [] if ct_v is None else [ct_v], turn)


@eigh.rule("lost_ahead")
def eigh_lost_ahead(dxs, y, x, UPLO="L"):
    v, pairs = y[1], tied_pairs(y[0])
    if pairs is None:
        return None
    return logical_and(pairs, counted(matmul(adjoint(v), matmul(hermitian_part(dxs[0]), v)), dxs[0]))


@eigh.rule("jvp")
def eigh_jvp(dxs, y, x, UPLO="L"):
    """With m = vᴴ dx v: dw is m's diagonal, and vᴴ dv is m over the differences of the eigenvalues."""
    w, v = y
    m = matmul(adjoint(v), matmul(hermitian_part(dxs[0]), v))
    dw = real(sum(multiply(m, eye_like(w, shape_of(w)[-1])), axis=-1))
    return dw, matmul(v, multiply(reciprocal_gaps(w), m))


@eigvalsh.rule("jvp")
def eigvalsh_jvp(dxs, y, x, UPLO="L"):
    v = eigh(x, UPLO=UPLO)[1]
    through_ties("eigvalsh", y)
    return real(sum(multiply(conj(v), matmul(hermitian_part(dxs[0]), v)), axis=-2))


eigh.rule("batch")(lanes_lead(eigh))
eigh.rule("depends")("ab->i,jk")
eigvalsh.rule("batch")(lanes_lead(eigvalsh))
eigvalsh.rule("depends")("ab->i")


# ---------------------------------------------------------------------- general matrices
class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: object
    eigenvectors: object


@opaque(home="linalg", raises=True, samples=[case(normal(3, 3)), case(normal(2, 2, 2)), case(complex_normal(3, 3))])
def eig(x, /):
    """Eigenvalues and eigenvectors of square matrices, as the named tuple (eigenvalues, eigenvectors), always complex.

    x: shape (…, n, n), diagonalizable. eigenvalues: shape (…, n), in LAPACK's order; eigenvectors: shape (…, n, n), columns
    of length 1 whose largest element is real (LAPACK's choice of the phase, kept by derivatives). (NumPy's function returns
    real arrays if all eigenvalues happen to be real.) Raises ShapeError; derivatives LinAlgError at defective matrices.
    """


@opaque(home="linalg", raises=True, samples=[case(normal(3, 3)), case(normal(2, 2, 2)), case(complex_normal(3, 3))])
def eigvals(x, /):
    """Eigenvalues of square matrices, shape (…, n, n) to (…, n), complex, in LAPACK's order. Raises ShapeError."""


def _complex_dtype(name, x):
    check_square(name, x)
    return np.result_type(computed_dtype(name, x), np.complex64)


@eig.rule("shape")
def eig_shape(x):
    dtype = _complex_dtype("eig", x)
    return EigResult(Aval(x.shape[:-1], dtype), Aval(x.shape, dtype))


@eigvals.rule("shape")
def eigvals_shape(x):
    return Aval(x.shape[:-1], _complex_dtype("eigvals", x))


def _on_diagonal(m):
    return sum(multiply(m, eye_like(m, shape_of(m)[-1])), axis=-1)


@eig.rule("lost_back")
def eig_lost_back(cts, y, x):
    (ct, ct_v), (w, v) = cts, y
    turn = lambda: counted(matmul(matrix_transpose(v), ct_v), ct_v)  # the vectors of equal values need not be orthogonal
    return lost_back(tied_pairs(w), ct, [] if ct_v is None else [ct_v], turn)


@eig.rule("lost_ahead")
def eig_lost_ahead(dxs, y, x):
    v, pairs = y[1], tied_pairs(y[0])
    if pairs is None:
        return None
    m = solve(v, matmul(astype(dxs[0], dtype=v.dtype), v))
    return logical_and(pairs, counted(m, m))


@eig.rule("jvp")
def eig_jvp(dxs, y, x):
    w, v = y
    m = solve(v, matmul(astype(dxs[0], dtype=v.dtype), v))
    dv = matmul(v, multiply(reciprocal_gaps(w), m))
    if not shape_of(w)[-1]:
        return _on_diagonal(m), dv
    along = real(sum(multiply(conj(v), dv), axis=-2, keepdims=True))  # changes the length
    size = abs(v)
    largest = equal(size, max(size, axis=-2, keepdims=True))
    dv = subtract(dv, multiply(v, along))
    of_largest = lambda part: sum(multiply(largest, part), axis=-2, keepdims=True)
    turn = divide(of_largest(imag(multiply(conj(v), dv))), of_largest(square(size)))  # changes its phase
    return _on_diagonal(m), subtract(dv, multiply(multiply(v, 1j), turn))


@eigvals.rule("jvp")
def eigvals_jvp(dxs, y, x):
    v = eig(x)[1]
    through_ties("eigvals", y)
    return _on_diagonal(solve(v, matmul(astype(dxs[0], dtype=v.dtype), v)))


eig.rule("batch")(lanes_lead(eig))
eig.rule("depends")("ab->i,jk")
eigvals.rule("batch")(lanes_lead(eigvals))
eigvals.rule("depends")("ab->i")
