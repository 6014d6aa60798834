"""Linear systems: solve, triangular systems, the inverse, and both for tensors.

With x = A⁻¹b: dx = A⁻¹(db - dA x), and for a cotangent c of x, that of b is g = A⁻ᵀc and that of A is -g xᵀ.
"""

import math

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..avals import Aval, ndim_of, normalize_axis, shape_of
from ..card import composite, opaque
from ..samples import case, complex_normal, normal
from .arithmetic import add, negative
from .complex import conj
from .indexing import describe_shape
from .linalg import matmul
from .matrices import as_columns, check_square, computed_dtype, lanes_lead, pad_lanes, without_last
from .rearrange import tril, triu
from .shape import matrix_transpose, moveaxis, reshape


def regular(*lead, n=3, kind=normal):
    """Samples of well-conditioned square matrices."""
    return lambda rng: kind(*lead, n, n)(rng) * 0.4 + 1.5 * np.eye(n)


# ---------------------------------------------------------------------- what solvers share
def _solution_aval(name, a, b):
    check_square(name, a)
    rows = b.shape[-2 if b.ndim > 1 else -1 :][:1]
    if rows != a.shape[-1:]:
        raise ShapeError(f"{name}: {describe_shape(a)} and the right-hand side {describe_shape(b)} differ in their rows")
    dtype = computed_dtype(name, a, b)
    if b.ndim == 1:
        return Aval(a.shape[:-1], dtype)
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"{name}: the leading axes of {a} and {b} do not broadcast") from None
    return Aval((*lead, *b.shape[-2:]), dtype)


def _solver_batch(op):
    def rule(size, xs, batched, **params):
        a, b = xs
        lanes = [ndim_of(x) - on for x, on in zip(xs, batched, strict=True)]
        if lanes[0] < 2 or lanes[1] < 1:
            raise ShapeError(f"{op.__name__}: lanes of {describe(a)} and {describe(b)} are no matrix and right-hand side")
        columns = as_columns(b, lanes[1])
        most = max(*lanes, 2)
        x = op(pad_lanes(a, batched[0], most), pad_lanes(columns, batched[1], most), **params)
        return without_last(x) if lanes[1] == 1 else x

    return rule


def _solver_rules(op, transposed, tangent, cotangent):
    """The rules of an operation x = op(a, b) that solves m(a) x = b.

    transposed(a, b, **params): solves m(a)ᵀ x = b. tangent: of m(a) from that of a; cotangent: of a from that of m(a).
    """

    def jvp(dxs, x, a, b, **params):
        da, db = dxs
        vector = ndim_of(b) == 1
        full = lambda v: as_columns(v, 1 if vector else 2)
        right = None if da is None else negative(matmul(tangent(da, **params), full(x)))
        if db is not None:
            right = full(db) if right is None else add(full(db), right)
        dx = op(a, right, **params)
        return without_last(dx) if vector else dx

    def by_a(ct, x, a, b, **params):
        full = lambda v: as_columns(v, ndim_of(b))
        g = transposed(a, full(ct), **params)
        return cotangent(negative(matmul(g, matrix_transpose(full(x)))), **params)

    def by_b(ct, x, a, b, **params):
        g = transposed(a, as_columns(ct, ndim_of(b)), **params)
        return without_last(g) if ndim_of(b) == 1 else g

    op.rule("shape")(lambda a, b, **params: _solution_aval(op.__name__, a, b))
    op.rule("jvp")(jvp)
    op.rule("vjp")([by_a, by_b])
    op.rule("batch")(_solver_batch(op))
    op.rule("depends")(lambda a, b, **params: "ab,j->i" if ndim_of(b) == 1 else "ab,jk->ik")


# ---------------------------------------------------------------------- solve
@opaque(
    raises=True,
    home="linalg",
    samples=[
        case(regular(), normal(3)), case(regular(), normal(3, 2)), case(regular(2), normal(3)),
        case(regular(2), normal(3, 2)), case(regular(), normal(2, 3, 2)),
        case(regular(kind=complex_normal), complex_normal(3)), case(regular(kind=complex_normal), normal(3, 1)),
    ],
)  # fmt: skip
def solve(a, b, /):
    """The x with a @ x = b, for square matrices a.

    a: shape (…, n, n). b: shape (n,), a vector, or (…, n, k); leading axes broadcast (with more than one axis b is a stack
    of matrices, as in NumPy 2). Returns shape (…, n) or (…, n, k) in single or double precision. Raises ShapeError, and
    LinAlgError (also NumPy's class of that name) if a matrix is exactly singular.

    >>> import numpy as np, polyad as pa
    >>> pa.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([1.0, 2.0]))
    array([0.5, 0.5])
    """


_solver_rules(solve, lambda a, b: solve(matrix_transpose(a), b), lambda da: da, lambda ct: ct)


# ---------------------------------------------------------------------- triangular systems
@opaque(
    raises=True,
    home="linalg",
    numpy=(),
    samples=[
        case(regular(), normal(3)), case(regular(), normal(3, 2), lower=True), case(regular(2), normal(3, 2), trans=1),
        case(regular(), normal(2, 3, 1), lower=True, unit_diagonal=True),
        case(regular(kind=complex_normal), complex_normal(3), trans=2),
    ],
)  # fmt: skip
def solve_triangular(a, b, /, trans=0, lower=False, unit_diagonal=False):
    """The x with a @ x = b, for triangular matrices a; of a only the triangle is read, and only it has a derivative.

    a: shape (…, n, n). b: shape (n,) or (…, n, k), as for `solve`. trans: 0 for a itself, 1 for its transpose, 2 for its
    adjoint ("N", "T", "C" as in SciPy). lower: which triangle. unit_diagonal: take the diagonal as ones and do not read
    it. Raises ShapeError, and LinAlgError for a zero on the diagonal.
    """


def _form(trans):
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ShapeError(f"solve_triangular: trans={trans!r} is none of 0, 1, 2, 'N', 'T', 'C'")
    return trans if isa(trans, int) else "NTC".index(str(trans))


def _triangle(x, lower, unit_diagonal):
    return tril(x, k=-1 if unit_diagonal else 0) if lower else triu(x, k=1 if unit_diagonal else 0)


def _through(x, trans):
    """The matrix that is solved with, from the one that is given, or the other way round."""
    form = _form(trans)
    return x if form == 0 else matrix_transpose(conj(x) if form == 2 else x)


def _transposed(a, b, trans=0, lower=False, unit_diagonal=False):
    form = _form(trans)
    a = conj(a) if form == 2 else a
    return solve_triangular(a, b, trans=1 if form == 0 else 0, lower=lower, unit_diagonal=unit_diagonal)


_solver_rules(
    solve_triangular,
    _transposed,
    lambda da, trans=0, lower=False, unit_diagonal=False: _through(_triangle(da, lower, unit_diagonal), trans),
    lambda ct, trans=0, lower=False, unit_diagonal=False: _triangle(_through(ct, trans), lower, unit_diagonal),
)


@composite(
    home="linalg",
    numpy=(),
    kernel=None,
    samples=[case(regular(), normal(3)), case(regular(), normal(3, 2), lower=False)],
)
def cho_solve(c, b, /, lower=True):
    """The x with a @ x = b, from the Cholesky factor c of a: a = c @ cᴴ, or cᴴ @ c for an upper one.

    c: shape (…, n, n), as `cholesky` returns it. b: shape (n,) or (…, n, k). Raises ShapeError, LinAlgError.
    """
    first, second = (0, 2) if lower else (2, 0)
    half = solve_triangular(c, as_columns(b), trans=first, lower=lower)
    x = solve_triangular(c, half, trans=second, lower=lower)
    return without_last(x) if ndim_of(b) == 1 else x


# ---------------------------------------------------------------------- inverse
@opaque(home="linalg", raises=True, samples=[case(regular()), case(regular(2)), case(regular(kind=complex_normal))])
def inv(x, /):
    """Inverse of square matrices, shape (…, n, n). To solve a system, `solve` is faster and more accurate.

    Raises ShapeError, and LinAlgError (also NumPy's class of that name) if a matrix is exactly singular.
    """


@inv.rule("shape")
def inv_shape(x):
    check_square("inv", x)
    return Aval(x.shape, computed_dtype("inv", x))


def _around(y, middle):
    return negative(matmul(matmul(y, middle), y))


inv.rule("jvp")(lambda dxs, y, x: _around(y, dxs[0]))
inv.rule("vjp")([lambda ct, y, x: _around(matrix_transpose(y), ct)])
inv.rule("batch")(lanes_lead(inv))
inv.rule("depends")("ab->ij")


# ---------------------------------------------------------------------- tensors
@composite(home="linalg", samples=[case(normal(2, 3, 6), normal(2, 3)), case(normal(2, 3, 2, 3), normal(2, 3))])
def tensorsolve(a, b, /, axes=None):
    """The x with tensordot(a, x, axes=x.ndim) = b. axes: axes of a to move to its end first. Raises ShapeError, LinAlgError."""
    if axes is not None:
        axes = [normalize_axis("tensorsolve", i, ndim_of(a)) for i in axes]
        a = moveaxis(a, axes, range(ndim_of(a) - len(axes), ndim_of(a)))
    shape = shape_of(a)[ndim_of(b) :]
    rows, columns = math.prod(shape_of(b)), math.prod(shape)
    if math.prod(shape_of(a)) != rows * columns or rows != columns:
        raise ShapeError(f"tensorsolve: {describe(a)} is no square system for {describe(b)}")
    return reshape(solve(reshape(a, shape=(rows, columns)), reshape(b, shape=(rows,))), shape=shape)


@composite(home="linalg", samples=[case(normal(2, 3, 6), ind=2), case(normal(4, 2, 2), ind=1)])
def tensorinv(x, /, ind=2):
    """The inverse of x as the map tensordot(x, ·) from its axes after the first `ind` to those.

    ind: how many axes of x the result has last. Raises ShapeError, LinAlgError.
    """
    rows, columns = shape_of(x)[:ind], shape_of(x)[ind:]
    if ind <= 0 or math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv: {describe(x)} is not square with ind={ind}")
    size = math.prod(rows)
    return reshape(inv(reshape(x, shape=(size, size))), shape=(*columns, *rows))
