"""Factorizations: Cholesky, QR, singular values, and the pseudoinverse, each for stacks of matrices.

The derivatives are those of the factors as functions of the matrix (M. Giles, "Collected matrix derivative results for
forward and reverse mode algorithmic differentiation", 2008; S. F. Walter and L. Lehmann, "Algorithmic differentiation of
linear algebra functions with application in optimum experimental design", 2010). Reverse mode transposes them.
"""

from typing import NamedTuple

import numpy as np

from ...dispatch import Layer, MissingRuleError, ShapeError
from ..avals import Aval, shape_of
from ..card import opaque
from ..roots import at_convention
from ..samples import case, complex_normal, normal
from .arithmetic import add, divide, multiply, over_or_zero, subtract
from .compare import equal, less_equal, logical_and, logical_or, not_equal, where
from .complex import conj, imag, is_complex, real, stop_gradient
from .create import eye_like
from .linalg import matmul
from .matrices import (
    adjoint,
    check_matrix,
    check_square,
    computed_dtype,
    hermitian_part,
    lanes_lead,
    real_dtype,
    strict_lower,
)
from .rearrange import triu
from .reduce import any, max, sum
from .shape import concatenate, expand_dims, matrix_transpose
from .solve import solve_triangular
from .ties import counted, lost_back, somewhere, sum_or_none, through_ties, tied, tied_pairs, unsymmetric


def tall_or_wide(kind=normal):
    """Samples: a square, a tall and a wide matrix, and a stack."""
    return [case(kind(3, 3)), case(kind(4, 2)), case(kind(2, 3)), case(kind(2, 3, 2))]


# ---------------------------------------------------------------------- Cholesky
@opaque(
    home="linalg",
    raises=True,
    no_rule={"samples": "the matrices and their tangents must be Hermitian; dsl/ops/test_linalg.py composes it with that"},
)
def cholesky(x, /, upper=False):
    """Cholesky factor of Hermitian positive definite matrices: the lower l with x = l @ lᴴ, or the upper u with x = uᴴ @ u.

    x: shape (…, n, n); only the lower triangle is read (upper: only the upper one). The derivative is that along Hermitian
    matrices: a tangent counts by its Hermitian part, and cotangents of x are Hermitian (symmetric for real x), whichever
    triangle is read. Raises ShapeError, and LinAlgError (also NumPy's class of that name) unless positive definite.
    """


@cholesky.rule("shape")
def cholesky_shape(x, upper=False):
    check_square("cholesky", x)
    return Aval(x.shape, computed_dtype("cholesky", x))


@cholesky.rule("jvp")
def cholesky_jvp(dxs, y, x, upper=False):
    """l⁻¹ dx l⁻ᴴ = l⁻¹ dl + its adjoint, so l⁻¹ dl is the lower triangle of the left side with half its diagonal."""
    lower = adjoint(y) if upper else y
    half = solve_triangular(lower, hermitian_part(dxs[0]), lower=True)
    both = adjoint(solve_triangular(lower, adjoint(half), lower=True))
    halved = multiply(both, multiply(eye_like(y, shape_of(x)[-1], dtype=real_dtype(y.dtype)), 0.5))
    change = matmul(lower, add(strict_lower(both), halved))
    return adjoint(change) if upper else change


cholesky.rule("batch")(lanes_lead(cholesky))
cholesky.rule("depends")("ab->ij")


# ---------------------------------------------------------------------- QR
class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: object
    R: object


@opaque(home="linalg", samples=[*tall_or_wide(), *tall_or_wide(complex_normal), case(normal(2, 3), mode="complete")])
def qr(x, /, mode="reduced"):
    """Orthonormal columns Q and upper triangular R with x = Q @ R, as the named tuple (Q, R).

    x: shape (…, m, n) of full rank. mode: "reduced" for Q of shape (…, m, k) and R of shape (…, k, n), k = min(m, n);
    "complete" for (…, m, m) and (…, m, n), which has a derivative only for m <= n, since the further columns of Q are any
    basis. Signs are LAPACK's; the diagonal of R is real. Raises ShapeError.
    """


@qr.rule("shape")
def qr_shape(x, mode="reduced"):
    check_matrix("qr", x)
    if mode not in ("reduced", "complete"):
        raise ShapeError(f"qr: mode={mode!r} is not offered; it is 'reduced' or 'complete' (the R of mode 'r' is qr(x).R)")
    m, n = x.shape[-2:]
    k, dtype, lead = m if mode == "complete" else min(m, n), computed_dtype("qr", x), x.shape[:-2]
    return QRResult(Aval((*lead, m, k), dtype), Aval((*lead, k, n), dtype))


@qr.rule("jvp")
def qr_jvp(dxs, y, x, mode="reduced"):
    """With p = dx r⁻¹ and c = qᴴp (of the first k columns): qᴴdq is the antihermitian part that c's lower triangle sets."""
    (q, r), dx = y, dxs[0]
    k = min(shape_of(x)[-2:])
    if shape_of(q)[-1] > k:
        raise MissingRuleError('qr: mode="complete" of tall matrices has no derivative; use mode="reduced"')
    first, corner = dx[..., :k], r[..., :k, :k]
    p = matrix_transpose(solve_triangular(matrix_transpose(corner), matrix_transpose(first), lower=True))
    c = matmul(adjoint(q), p)
    below = strict_lower(c)
    turn = subtract(below, adjoint(below))
    if is_complex(x):  # that keeps the diagonal of r real
        turn = add(turn, multiply(multiply(imag(c), 1j), eye_like(c, k)))
    dq = add(matmul(q, subtract(turn, c)), p)
    return dq, triu(add(matmul(adjoint(dq), x), matmul(adjoint(q), dx)))


qr.rule("batch")(lanes_lead(qr))
qr.rule("depends")("ab->ij,kl")


# ---------------------------------------------------------------------- LU
class LUResult(NamedTuple):
    """The result of `lu`."""

    P: object
    L: object
    U: object


@opaque(home="linalg", numpy=(), samples=[*tall_or_wide(), case(complex_normal(3, 3))])
def lu(x, /):
    """Permutation P, unit lower triangular L and upper triangular U with x = P @ L @ U, as the named tuple (P, L, U).

    x: shape (…, m, n). Shapes (…, m, m), (…, m, k) and (…, k, n), k = min(m, n). P, real, is constant under
    derivatives. Raises ShapeError, and ImportError without SciPy; derivatives LinAlgError where a pivot is zero.
    """


@lu.rule("shape")
def lu_shape(x):
    check_matrix("lu", x)
    (m, n), lead, dtype = x.shape[-2:], x.shape[:-2], computed_dtype("lu", x)
    k = min(m, n)
    p = Aval((*lead, m, m), real_dtype(dtype))
    return LUResult(p, Aval((*lead, m, k), dtype), Aval((*lead, k, n), dtype))


@lu.rule("jvp")
def lu_jvp(dxs, y, x):
    """With L⁻¹ (Pᵀdx) U⁻¹ = L⁻¹dL + dU U⁻¹ for the leading square blocks; the rest of L and U follows from theirs."""
    p, l, u = y  # noqa: E741  the field's letter
    k = shape_of(l)[-1]
    dx = matmul(matrix_transpose(p), dxs[0])
    first, rest, corner = l[..., :k, :], l[..., k:, :], u[..., :k]
    over_corner = lambda m: matrix_transpose(solve_triangular(corner, matrix_transpose(m), trans=1))
    under_first = lambda m: solve_triangular(first, m, lower=True, unit_diagonal=True)
    t = over_corner(under_first(dx[..., :k, :k]))
    dl, du = matmul(first, strict_lower(t)), matmul(triu(t), corner)
    if shape_of(x)[-1] > k:
        du = concatenate([du, under_first(subtract(dx[..., k:], matmul(dl, u[..., k:])))], axis=-1)
    if shape_of(x)[-2] > k:
        dl = concatenate([dl, over_corner(subtract(dx[..., k:, :], matmul(rest, du)))], axis=-2)
    return None, dl, du


lu.rule("batch")(lanes_lead(lu))
lu.rule("depends")("ab->hi,jk,lm")


# ---------------------------------------------------------------------- singular values
class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: object
    S: object
    Vh: object


@opaque(
    home="linalg",
    raises=True,
    samples=[
        case(normal(3, 3)),
        *[case(make, full_matrices=False) for make in (normal(3, 3), normal(4, 2), normal(2, 3), normal(2, 3, 2))],
    ],
)
def svd(x, /, full_matrices=True):
    """Singular value decomposition x = U @ diag(S) @ Vh, as the named tuple (U, S, Vh).

    x: shape (…, m, n). S: shape (…, k), real, descending, k = min(m, n). U and Vh have orthonormal columns and rows, shapes
    (…, m, k) and (…, k, n), or all of them (full_matrices: (…, m, m) and (…, n, n); then U and Vh of matrices that are not
    square have no derivative, use full_matrices=False). Raises ShapeError.

    Vectors are defined up to a sign (phase, if complex), so only what does not depend on it has a meaning. Equal singular
    values: their vectors may be turned among each other, on both sides alike, and the derivative by such a turn counts as 0:
    of (u * h(s)) @ vh the slope between equal values is lost, with a ConventionWarning.
    """


@svd.rule("shape")
def svd_shape(x, full_matrices=True):
    s = _singular_values("svd", x)
    (m, n), lead, dtype = x.shape[-2:], x.shape[:-2], computed_dtype("svd", x)
    rows, columns = (m, n) if full_matrices else 2 * s.shape[-1:]
    return SVDResult(Aval((*lead, m, rows), dtype), s, Aval((*lead, columns, n), dtype))


def _singular_values(name, x):
    check_matrix(name, x)
    return Aval((*x.shape[:-2], min(x.shape[-2:])), real_dtype(computed_dtype(name, x)))


def reciprocal_gaps(s):
    """1 / (s[j] - s[i]) as a matrix [i, j], and 0 where the two are equal up to rounding."""
    gaps = subtract(expand_dims(s, -2), expand_dims(s, -1))
    if not shape_of(s)[-1]:
        return gaps
    tie = tied(s)
    through_ties("singular vectors or eigenvectors", s)
    return where(tie, 0.0, divide(1.0, where(tie, 1.0, gaps)))


def reciprocal_sums(s):
    """1 / (s[i] + s[j]) as a matrix [i, j], and 0 where both are 0 up to rounding."""
    sums = add(expand_dims(s, -2), expand_dims(s, -1))
    n = shape_of(s)[-1]
    if not n:
        return sums
    size = expand_dims(stop_gradient(max(s, axis=-1, keepdims=True)), -1)
    none = less_equal(stop_gradient(sums), multiply(size, n * np.finfo(real_dtype(s.dtype)).eps))
    return where(none, 0.0, divide(1.0, where(none, 1.0, sums)))


@svd.rule("jvp")
def svd_jvp(dxs, y, x, full_matrices=True):
    """With p = uᴴ dx v, a = uᴴ du and b = vᴴ dv, antihermitian: off the diagonal p = a s - s b. So (p + pᴴ)[i, j] is
    (s[j] - s[i]) (a + b), and (p - pᴴ)[i, j] is (s[i] + s[j]) (a - b): where singular values are equal, the turn a + b that
    both vectors make is free and counts as 0, while a - b, by which they turn apart, is not. So is the common phase of a pair.
    """
    (u, s, vh), dx = y, dxs[0]
    (m, n), k = shape_of(x)[-2:], shape_of(s)[-1]
    if shape_of(u)[-1] > k or shape_of(vh)[-2] > k:
        raise MissingRuleError("svd: only square matrices have a derivative with full_matrices=True; use full_matrices=False")
    v, uh = adjoint(vh), adjoint(u)
    across = matmul(uh, dx)
    p = matmul(across, v)
    ds = real(sum(multiply(p, eye_like(s, k)), axis=-1))
    row, ph = expand_dims(s, -2), adjoint(p)
    together = multiply(add(p, ph), reciprocal_gaps(s))
    apart = multiply(subtract(p, ph), reciprocal_sums(s))  # for complex x its diagonal is the phase of a pair of vectors
    left, right = multiply(add(together, apart), 0.5), multiply(subtract(together, apart), 0.5)
    du, dv = matmul(u, left), matmul(v, right)
    if m > k:
        beyond = matmul(dx, v)
        du = add(du, over_or_zero(subtract(beyond, matmul(u, matmul(uh, beyond))), row))
    if n > k:
        beyond = adjoint(across)
        dv = add(dv, over_or_zero(subtract(beyond, matmul(v, matmul(vh, beyond))), row))
    return du, ds, adjoint(dv)


@svd.rule("lost_back")
def svd_lost_back(cts, y, x, full_matrices=True):
    """Find the parts of the cotangents that are lost: what turns u and vᴴ alike is free where values are equal, and what turns
    each where both are 0; so are, in matrices that are not square, the vectors of a value 0."""
    (ct_u, ct, ct_v), (u, s, vh) = cts, y
    columns = [] if ct_u is None else [ct_u]
    columns += [] if ct_v is None else [matrix_transpose(ct_v)]

    def turn():
        left = None if ct_u is None else matmul(matrix_transpose(u), ct_u)
        right = None if ct_v is None else conj(matmul(vh, matrix_transpose(ct_v)))
        return unsymmetric(sum_or_none(left, right), *columns)

    return lost_back(_free(x, s), ct, columns, turn)


def _free(x, s):
    """Pairs of singular values whose vectors may be turned; [i, i] for a value 0 of matrices that are not square."""
    pairs, (m, n) = tied_pairs(s), shape_of(x)[-2:]
    if m == n or not shape_of(s)[-1]:
        return pairs
    alone = multiply(eye_like(s, shape_of(s)[-1]), expand_dims(equal(s, 0), -1))
    alone = equal(alone, 1)
    if not somewhere(alone):
        return pairs
    return alone if pairs is None else logical_or(pairs, alone)


@svd.rule("lost_ahead")
def svd_lost_ahead(dxs, y, x, full_matrices=True):
    (u, s, vh), dx = y, dxs[0]
    free = _free(x, s)
    if free is None:
        return None
    p = matmul(matmul(adjoint(u), dx), adjoint(vh))
    zero = logical_and(equal(expand_dims(s, -1), 0), equal(expand_dims(s, -2), 0))
    return logical_and(free, logical_or(counted(add(p, adjoint(p)), dx), logical_and(zero, any(not_equal(dx, 0)))))


svd.rule("batch")(lanes_lead(svd))
svd.rule("depends")("ab->ij,k,lm")


@opaque(home="linalg", raises=True, samples=[*tall_or_wide(), case(complex_normal(3, 2))])
def svdvals(x, /):
    """Singular values of matrices, shape (…, m, n) to (…, min(m, n)), real, descending.

    A singular value that is exactly 0 has slope 0, as `abs` has at 0. Raises ShapeError.
    """


svdvals.rule("shape")(lambda x: _singular_values("svdvals", x))


@svdvals.rule("jvp")
def svdvals_jvp(dxs, y, x):
    u, s, vh = svd(x, full_matrices=False)
    ds, zero = real(sum(multiply(matmul(dxs[0], adjoint(vh)), conj(u)), axis=-2)), equal(s, 0)
    through_ties("svdvals", y)
    if isinstance(y, Layer):
        at_convention("svdvals", zero, y)
    return where(zero, 0.0, ds)


svdvals.rule("batch")(lanes_lead(svdvals))
svdvals.rule("depends")("ab->i")
