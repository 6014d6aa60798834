"""The pseudoinverse and what is made with it or counts singular values: rank and least squares, for stacks of matrices."""

from typing import Any, NamedTuple

import numpy as np

from ...dispatch import Array, ShapeError
from ..avals import Aval, shape_of
from ..card import composite, opaque
from ..samples import case, complex_normal, normal
from .arithmetic import add, divide, multiply, negative, square, subtract
from .compare import greater, logical_and, logical_not, where
from .complex import abs, conj, real, stop_gradient
from .factorize import svd, svdvals, tall_or_wide
from .linalg import matmul
from .matrices import adjoint, check_matrix, computed_dtype, lanes_lead
from .reduce import max, sum
from .shape import expand_dims, matrix_transpose
from .ties import sum_or_none


# ---------------------------------------------------------------------- pseudoinverse
@opaque(home="linalg", raises=True, numpy=(), samples=[*tall_or_wide(), *tall_or_wide(complex_normal)])
def pinv(x, /, rtol=None):
    """Moore-Penrose inverse of matrices, shape (…, m, n) to (…, n, m).

    rtol: singular values up to rtol times the largest count as 0; unless given, max(m, n) times the precision of the dtype
    (the array API's choice). The derivative is that at a constant number of values that count. Raises ShapeError.
    """


@pinv.rule("shape")
def pinv_shape(x, rtol=None):
    check_matrix("pinv", x)
    *lead, m, n = x.shape
    bounds = () if rtol is None else np.shape(rtol)
    try:
        fits = not bounds or np.broadcast_shapes(bounds, lead) == tuple(lead)
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"pinv: rtol of shape {list(bounds)} for {x}; it is a number, or one for each matrix")
    return Aval((*lead, n, m), computed_dtype("pinv", x))


@pinv.rule("jvp")
def pinv_jvp(dxs, y, x, rtol=None):
    """At constant rank (G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10, 1973), of as many singular values as count."""
    dx, dxh, yh = dxs[0], adjoint(dxs[0]), adjoint(y)
    inner = matmul(matmul(y, dx), y)
    left = matmul(matmul(y, yh), dxh)
    right = matmul(matmul(dxh, yh), y)
    left = subtract(left, matmul(matmul(left, x), y))
    right = subtract(right, matmul(y, matmul(x, right)))
    dy = subtract(add(left, right), inner)
    if rtol is None or np.all(np.asarray(rtol) <= max_length(x) * np.finfo(computed_dtype("pinv", x)).eps):
        return dy  # what does not count is 0
    rest = subtract(x, matmul(matmul(x, y), x))
    rest = subtract(rest, matmul(rest, matmul(y, x)))  # 0 but for rounding, which is large beside small values
    right, left = _turned(dx, y, x, rest, rtol), _turned(dxh, yh, adjoint(x), adjoint(rest), rtol)
    return add(dy, add(right, adjoint(left)))


def _turned(dx, y, x, rest, rtol):
    """The change of a pseudoinverse by right singular vectors that count and turn towards left ones of `rest`."""
    given = add(matmul(dx, adjoint(rest)), matmul(adjoint(matmul(dx, y)), matmul(rest, adjoint(rest))))
    return solve_between(x, y, matmul(y, given), rtol=rtol)


pinv.rule("batch")(lanes_lead(pinv))
pinv.rule("depends")("ab->ij")


# ---------------------------------------------------------------------- between what counts and the rest
@opaque(
    kernel=None,
    numpy=(),
    raises=True,
    spelled="dsl.ops.pseudoinverse.solve_between",
    no_rule={"samples": "y must be the pseudoinverse of x; tests/dsl/ops/test_pseudoinverse.py composes it with that"},
)
def solve_between(x, y, b, /, rtol: Any = None):
    """The z of y's range with (aᴴa) z - z (r rᴴ) = q b, where a = x y x is what counts of x, r = x - a, and q = y x.

    x: shape (…, m, n). y: its pseudoinverse. b: shape (…, n, m), as the result. It is smooth where values that count are equal,
    or others, while singular vectors are not. Raises ShapeError.
    """


@solve_between.method
def solve_between_arrays(x: Array, y: Array, b: Array, /, rtol: Any = None):
    z = matmul(y, matmul(adjoint(y), b))
    if not min(shape_of(x)[-2:]):
        return z
    u, s, vh = svd(x, full_matrices=False)
    counts = greater(s, multiply(max(s, axis=-1, keepdims=True), expand_dims(rtol, -1) if np.ndim(rtol) else rtol))
    across = logical_and(expand_dims(counts, -1), logical_not(expand_dims(counts, -2)))
    large, small = where(across, expand_dims(s, -1), 1.0), where(across, expand_dims(s, -2), 0.0)
    scale = divide(square(divide(small, large)), multiply(subtract(large, small), add(large, small)))
    between = multiply(scale, matmul(vh, matmul(b, u)))
    return add(z, matmul(adjoint(vh), matmul(between, adjoint(u))))


@solve_between.rule("shape")
def solve_between_shape(x, y, b, rtol=None):
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2], b.shape[:-2])
    return Aval((*lead, *b.shape[-2:]), computed_dtype("solve_between", x, y, b))


@solve_between.rule("jvp")
def solve_between_jvp(dxs, z, x, y, b, rtol=None):
    """z = q z gives dz = dq z + q dz, and q dz solves the equation with what the others change on its right side."""
    dx, dy, db = dxs
    q = matmul(y, x)
    a = matmul(x, q)
    r = subtract(x, a)
    dq = sum_or_none(None if dx is None else matmul(y, dx), None if dy is None else matmul(dy, x))
    if dq is None:
        return None if db is None else solve_between(x, y, db, rtol=rtol)
    da = sum_or_none(None if dx is None else matmul(dx, q), matmul(x, dq))
    dr = negative(da) if dx is None else subtract(dx, da)
    right = add(matmul(matmul(z, dr), adjoint(r)), matmul(matmul(z, r), adjoint(dr)))
    left = add(matmul(adjoint(da), matmul(a, z)), matmul(adjoint(a), matmul(da, z)))
    given = sum_or_none(db, add(subtract(right, left), matmul(dq, b)))
    return add(matmul(dq, z), solve_between(x, y, given, rtol=rtol))


@solve_between.rule("vjp_all")
def solve_between_vjp(ct, z, x, y, b, rtol=None):
    """The transpose of each step of the forward rule, the last first; that of the equation is the conjugate one."""
    q = matmul(y, x)
    a = matmul(x, q)
    r = subtract(x, a)
    zt = matrix_transpose(z)
    g = solve_between(conj(x), conj(y), ct, rtol=rtol)
    by_r = add(matmul(matmul(zt, g), conj(r)), adjoint(matmul(matrix_transpose(matmul(z, r)), g)))
    by_a = add(adjoint(matmul(g, matrix_transpose(matmul(a, z)))), matmul(conj(a), matmul(g, zt)))
    by_a = negative(add(by_a, by_r))
    by_q = add(add(matmul(ct, zt), matmul(g, matrix_transpose(b))), matmul(matrix_transpose(x), by_a))
    by_x = add(add(by_r, matmul(by_a, matrix_transpose(q))), matmul(matrix_transpose(y), by_q))
    return by_x, matmul(by_q, matrix_transpose(x)), g


@solve_between.rule("batch")
def solve_between_batch(size, xs, batched, rtol=None):
    return solve_between(*xs, rtol=rtol)  # of as many axes each, so that lanes lead


solve_between.rule("depends")("ab,cd,ef->ij")


# ---------------------------------------------------------------------- rank and least squares
@composite(home="linalg", kernel=None, numpy=(), differentiable=False, samples=tall_or_wide())
def matrix_rank(x, /, rtol=None, tol=None):
    """Number of singular values above a bound, an integer for each matrix of shape (…, m, n); a vector has rank 0 or 1.

    tol: the bound; unless given, rtol times the largest one, and that is max(m, n) times the precision of the dtype unless
    given. Raises ShapeError.
    """
    if len(shape_of(x)) < 2:
        return (max(abs(x)) > 0).astype(int) if shape_of(x) != (0,) else 0
    s = svdvals(stop_gradient(x))
    if tol is None:
        rtol = max_length(x) * np.finfo(s.dtype).eps if rtol is None else rtol
        tol = multiply(max(s, axis=-1), rtol) if shape_of(s)[-1] else 0.0
    return sum(greater(s, expand_dims(tol, -1) if shape_of(tol) else tol), axis=-1)  # a bound for each matrix


def max_length(x):
    """The larger side of the matrices."""
    m, n = shape_of(x)[-2:]
    return m if m > n else n


class LstsqResult(NamedTuple):
    """The result of `lstsq`."""

    x: object
    residuals: object
    rank: object
    s: object


@composite(
    home="linalg", kernel=None, numpy=("linalg.lstsq",),
    samples=[case(normal(4, 2), normal(4)), case(normal(4, 2), normal(4, 3)), case(complex_normal(3, 2), complex_normal(3))],
)  # fmt: skip
def lstsq(a, b, /, rcond=None):
    """The x of least norm that makes |b - a @ x| least, as the named tuple (x, residuals, rank, s).

    a: shape (…, m, n). b: shape (m,) or (…, m, k). rcond: singular values of a up to rcond times the largest count as 0;
    unless given, max(m, n) times the precision. residuals: the sums of squares |b - a @ x|², shape (…, k) ((1,) for a
    vector), empty where m <= n; rank, s: rank and singular values of a. The derivative of x is that at constant rank.
    Raises ShapeError.
    """
    check_matrix("lstsq", a)
    m, n = shape_of(a)[-2:]
    columns = expand_dims(b, -1) if len(shape_of(b)) == 1 else b
    if len(shape_of(columns)) < 2 or shape_of(columns)[-2] != m:
        raise ShapeError(f"lstsq: {m} rows of a matrix and a right-hand side of shape {list(shape_of(b))}")
    x = matmul(pinv(a, rtol=rcond), columns)
    misfit = subtract(columns, matmul(a, x))
    residuals = sum(real(multiply(conj(misfit), misfit)), axis=-2)
    if m <= n:
        residuals = residuals[..., :0]
    return LstsqResult(x if columns is b else x[..., 0], residuals, matrix_rank(a, rtol=rcond), svdvals(a))
