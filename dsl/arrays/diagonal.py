"""`Diagonal`: square matrices that are zero off the diagonal."""

from typing import Any

import numpy as np

from ...dispatch import Array, Container, ShapeError, array_type, describe, isa
from .. import (
    abs,
    add,
    arange_like,
    asarray,
    bilinear_family,
    broadcast_to,
    claim,
    combine_rule,
    concatenate,
    diagonal,
    divide,
    elementwise_family,
    equal,
    expand_dims,
    eye_like,
    full_permutation,
    index,
    join_index,
    linalg,
    log,
    matmul,
    multiply,
    power,
    prod,
    reduced_axes,
    reshape,
    sign,
    subtract,
    sum,
    trace,
    transpose,
    where,
    zeros_like,
)
from .zeros import Zeros, like, zero_like, zeros_product


@array_type(leaves=("diag",), linear=True, structure_ndim=2)
class Diagonal(Container):
    """Diagonal matrix, or a batch of them.

    diag: array of shape (…, n); the matrix has shape (…, n, n) and diag's dtype. Raises ShapeError if diag has no axis.
    The zeros off the diagonal are exact: `D * x` and `D / x` are Diagonal for every number and every array x, also
    where x is inf, NaN or 0 off the diagonal (NumPy's 0 * inf = NaN does not happen there). Elementwise functions with
    f(0) = 0 keep the structure. The gradient by a Diagonal is a Diagonal.

    >>> import numpy as np, polyad as pa
    >>> D = pa.Diagonal(np.array([1.0, 2.0]))
    >>> D @ D + 2 * D
    Diagonal(diag=array([3., 8.]))
    >>> np.ones(2) @ D
    array([1., 2.])
    """

    def __init__(self, diag: Any) -> None:
        diag = diag if hasattr(diag, "shape") else asarray(diag)
        if not diag.shape:
            raise ShapeError(f"Diagonal: the diagonal has at least one axis, not {describe(diag)}")
        self.diag = diag

    @property
    def shape(self):
        return (*self.diag.shape, self.diag.shape[-1])

    @property
    def dtype(self):
        return self.diag.dtype

    def dense(self) -> Any:
        return where(eye_like(self.diag, self.shape[-1], dtype=bool), expand_dims(self.diag, -1), zero_like(self))


# ---------------------------------------------------------------------- elementwise
@claim(elementwise_family, Diagonal)
def diagonal_elementwise(op, *xs, **params):
    """On the diagonal alone where zeros stay zeros."""
    if len({x.shape[-1] for x in xs if isinstance(x, Diagonal)}) != 1:
        return NotImplemented
    if all(isinstance(x, Diagonal) for x in xs):
        return Diagonal(op(*[x.diag for x in xs], **params)) if keeps_zeros(op, xs, params) else NotImplemented
    if len(xs) > 2:
        return NotImplemented
    x, y = xs  # type: ignore[misc]
    if op is multiply or (op is divide and isinstance(x, Diagonal)):
        return scaled(op, x, y)
    if op is power and isa(y, (int, float)) and y > 0:
        return Diagonal(power(x.diag, y))
    if op in (add, subtract):
        other = y if isinstance(x, Diagonal) else x
        if shape_of(other)[-2:] == (x if other is y else y).shape[-2:]:
            return op(*[z.dense() if isinstance(z, Diagonal) else z for z in xs])
    return NotImplemented


def shape_of(x):
    return getattr(x, "shape", ())


def keeps_zeros(op, xs, params):
    """Return whether the operation takes zeros of these dtypes to zero."""
    with np.errstate(all="ignore"):
        return bool(op(*[zero_like(x) for x in xs], **params) == 0)


def scaled(op, x, y):
    """Product or quotient of a Diagonal and a number or array, in this order."""
    n = (x if isinstance(x, Diagonal) else y).shape[-1]
    met = [z.diag if isinstance(z, Diagonal) else met_by_diagonal(z, n) for z in (x, y)]
    return NotImplemented if met[0] is None or met[1] is None else Diagonal(op(*met))


def met_by_diagonal(x, n):
    """The elements of x that an n×n diagonal meets when they broadcast; None if it would not stay a diagonal."""
    shape = shape_of(x)
    if not shape:
        return x
    rows, columns = ((1,) * (2 - len(shape)) + tuple(shape))[-2:]
    if rows not in (1, n) or columns not in (1, n):
        return None
    if len(shape) == 1:
        return x
    if rows == 1:
        return x[..., 0, :]
    if columns == 1:
        return x[..., 0]
    places = arange_like(x, n)
    return x[..., places, places]


@combine_rule(Zeros, Diagonal, elementwise_family)
def zeros_with_diagonal(op, *xs, **params):
    """Square zeros are a Diagonal of zeros."""
    if op is multiply:
        return like(op, *xs)
    D = next(x for x in xs if isinstance(x, Diagonal))
    if not all(isinstance(x, (Zeros, Diagonal)) and x.shape[-2:] == D.shape[-2:] for x in xs):
        return NotImplemented
    square = lambda x: Diagonal(zeros_like(D.diag, dtype=x.dtype, shape=x.shape[:-1]))
    return op(*[square(x) if isinstance(x, Zeros) else x for x in xs], **params)


# ---------------------------------------------------------------------- products
def check_inner(x, y):
    """Raise ShapeError unless x @ y fits."""
    if not shape_of(x) or not shape_of(y) or x.shape[-1] != y.shape[-2 if len(y.shape) > 1 else 0]:
        raise ShapeError(f"matmul: the shapes do not fit: {describe(x)} @ {describe(y)}")


@matmul.method
def matmul_diagonals(x: Diagonal, y: Diagonal, /):
    check_inner(x, y)
    return Diagonal(multiply(x.diag, y.diag))


@matmul.method
def matmul_diagonal_left(x: Diagonal, y: Array, /):
    check_inner(x, y)
    return multiply(x.diag if len(y.shape) == 1 else expand_dims(x.diag, -1), y)


@matmul.method
def matmul_diagonal_right(x: Array, y: Diagonal, /):
    check_inner(x, y)
    return multiply(x, y.diag if len(x.shape) == 1 else expand_dims(y.diag, -2))


combine_rule(Zeros, Diagonal, bilinear_family)(zeros_product)


# ---------------------------------------------------------------------- linear algebra
@linalg.solve.method
def solve_diagonals(a: Diagonal, b: Diagonal, /):
    """By division: a zero on the diagonal gives inf or NaN."""
    check_rows(a, b)
    return Diagonal(divide(b.diag, a.diag))


@linalg.solve.method
def solve_diagonal(a: Diagonal, b: Array, /):
    """By division: a zero on the diagonal gives inf or NaN."""
    check_rows(a, b)
    return divide(b, a.diag if len(b.shape) == 1 else expand_dims(a.diag, -1))


def check_rows(a, b):
    """Raise ShapeError unless b has as many rows as a."""
    if not shape_of(b) or b.shape[-2 if len(b.shape) > 1 else 0] != a.shape[-1]:
        raise ShapeError(f"solve: the rows differ: {describe(a)}, {describe(b)}")


@linalg.inv.method
def inv_diagonal(x: Diagonal, /):
    """By division: a zero on the diagonal gives inf."""
    return Diagonal(divide(1.0, x.diag))


@linalg.cholesky.method
def cholesky_diagonal(x: Diagonal, /, upper=False):
    """Each element by itself, a matrix of one row, which finds those that are not positive."""
    return Diagonal(linalg.cholesky(expand_dims(x.diag, (-1, -2)))[..., 0, 0])


@linalg.det.method
def det_diagonal(x: Diagonal, /):
    return prod(multiply(x.diag, 1.0), axis=-1)


@linalg.slogdet.method
def slogdet_diagonal(x: Diagonal, /):
    diag = multiply(x.diag, 1.0)
    with np.errstate(divide="ignore"):
        return linalg.SlogdetResult(prod(sign(diag), axis=-1), sum(log(abs(diag)), axis=-1))


@linalg.matrix_power.method
def matrix_power_diagonal(x: Diagonal, /, n):
    if not hasattr(n, "__index__"):
        return NotImplemented
    return Diagonal(power(x.diag, n) if n >= 0 else power(divide(1.0, x.diag), -n))


@diagonal.method
def diagonal_of_diagonal(x: Diagonal, /, offset=0, axis1=0, axis2=1):
    """Of the matrices themselves: what is stored, or zeros."""
    n = x.shape[-1]
    if {axis % x.ndim for axis in (axis1, axis2)} != {x.ndim - 2, x.ndim - 1}:
        return NotImplemented
    return x.diag if offset == 0 else zeros_like(x.diag, shape=(*x.shape[:-2], max(n - max(offset, -offset), 0)))


@trace.method
def trace_diagonal(x: Diagonal, /, offset=0, axis1=0, axis2=1, dtype=None):
    return sum(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1, dtype=dtype)


# ---------------------------------------------------------------------- reductions
@sum.method
def sum_diagonal(x: Diagonal, /, axis=None, dtype=None, keepdims=False):
    """Over one or both axes of the structure: the diagonal itself or its sum; over batch axes: a Diagonal."""
    ndim, axes = x.ndim, set(reduced_axes("sum", x, axis))
    both = {ndim - 2, ndim - 1}
    over = tuple(sorted({min(a, ndim - 2) for a in axes if both <= axes or a < ndim - 2}))
    y = sum(x.diag, axis=over, dtype=dtype, keepdims=keepdims)
    if not axes & both:
        return Diagonal(y)
    if not keepdims or both <= axes:
        return expand_dims(y, -1) if keepdims else y
    return expand_dims(y, -1 if ndim - 1 in axes else -2)


# ---------------------------------------------------------------------- shape and index
@transpose.method
def transpose_diagonal(x: Diagonal, /, axes=None):
    """Exchanging the last two axes changes nothing; batch axes may be permuted among themselves."""
    ndim, order = x.ndim, full_permutation("transpose", axes, x.ndim)
    if set(order[-2:]) != {ndim - 2, ndim - 1}:
        return NotImplemented
    return x if ndim == 2 else Diagonal(transpose(x.diag, axes=(*order[:-2], ndim - 2)))


@reshape.method
def reshape_diagonal(x: Diagonal, /, shape, copy=None):
    """Of the batch axes."""
    shape = (shape,) if isa(shape, int) else tuple(shape)
    return Diagonal(reshape(x.diag, shape=shape[:-1])) if shape[-2:] == x.shape[-2:] else NotImplemented


@broadcast_to.method
def broadcast_diagonal(x: Diagonal, /, shape):
    """Of the batch axes."""
    return Diagonal(broadcast_to(x.diag, shape=shape[:-1])) if shape[-2:] == x.shape[-2:] else NotImplemented


@concatenate.method
def concatenate_diagonals(*xs: Diagonal, axis=0):
    """Along a batch axis."""
    if axis is None or not -xs[0].ndim <= axis < xs[0].ndim or axis % xs[0].ndim >= xs[0].ndim - 2:
        return NotImplemented
    if len({x.shape[-1] for x in xs}) != 1:
        return NotImplemented
    return Diagonal(concatenate([x.diag for x in xs], axis=axis % xs[0].ndim))


@index.method
def index_diagonal(x: Diagonal, /, *arrays: Array, spec):
    """Indices of batch axes give a Diagonal; one row and one column (integers or arrays) give elements or zeros."""
    if Ellipsis not in spec and len([part for part in spec if part is not None]) <= x.ndim - 2:
        return Diagonal(index(x.diag, *arrays, spec=spec))
    parts = join_index(spec, arrays)
    row: Any
    column: Any
    *lead, row, column = parts if len(parts) >= 2 else (None, None)
    if None in spec or Ellipsis in spec or isinstance(row, slice) or isinstance(column, slice) or len(parts) != x.ndim:
        return NotImplemented
    found = x.diag[(*lead, row + 0 * column)]
    x.diag[(*lead, column)]  # for the error if a column is out of range
    return where(equal(row % x.shape[-1], column % x.shape[-1]), found, zero_like(x))
