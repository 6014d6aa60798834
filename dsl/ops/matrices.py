"""What operations on stacks of matrices share: checks, result dtypes, the adjoint, lanes among the leading axes."""

import numpy as np

from ...dispatch import DTypeError, ShapeError
from ..avals import dtype_of, ndim_of, shape_of
from .complex import astype, conj, is_complex
from .indexing import describe_shape
from .rearrange import tril
from .shape import expand_dims, matrix_transpose, reshape


def check_matrix(name, x):
    """Raise ShapeError unless x (an array or Aval) has two axes or more."""
    if len(shape_of(x)) < 2:
        raise ShapeError(f"{name}: {describe_shape(x)} is no matrix; it takes shape (…, m, n), see reshape and expand_dims")


def check_square(name, x):
    """Raise ShapeError unless x (an array or Aval) is a square matrix or a stack of them."""
    check_matrix(name, x)
    if shape_of(x)[-1] != shape_of(x)[-2]:
        raise ShapeError(f"{name}: {describe_shape(x)} is not square; for other shapes see linalg.lstsq and linalg.pinv")


def computed_dtype(name, *xs):
    """The dtype in which NumPy's linear algebra computes: single or double precision, integers in double.

    Raises DTypeError for others (half and extended precision).
    """
    dtypes = [dtype_of(x) for x in xs]
    whole = [np.dtype(np.float64)] if any(dtype.kind in "biu" for dtype in dtypes) else []
    dtype = np.result_type(*dtypes, *whole)
    if dtype.char not in "fdFD":
        given = ", ".join(map(describe_shape, xs))
        raise DTypeError(f"{name}: {given}: single or double precision is needed; convert with .astype")
    return dtype


def real_dtype(dtype):
    """The dtype of the real part."""
    return np.empty(0, dtype).real.dtype


def as_inexact(x):
    """x; but integers and booleans in double precision."""
    return astype(x, dtype=np.dtype(np.float64)) if dtype_of(x).kind in "biu" else x


def adjoint(x):
    """The conjugate transpose of each matrix."""
    return matrix_transpose(conj(x)) if is_complex(x) else matrix_transpose(x)


def hermitian_part(x):
    """(x + xᴴ) / 2: what of a tangent counts for an operation on Hermitian matrices."""
    return (x + adjoint(x)) * 0.5


def strict_lower(x):
    """The square matrices x with zeros on the diagonal and above."""
    return tril(x, k=-1)


def lanes_lead(op):
    """The batch rule of an operation on stacks of matrices: lanes are one more leading axis."""

    def rule(size, xs, batched, **params):
        (x,) = xs
        if ndim_of(x) < 3:
            raise ShapeError(f"{op.__name__}: each lane of shape {list(shape_of(x)[1:])} is no matrix; it takes (…, m, n)")
        return op(x, **params)

    return rule


def pad_lanes(x, batched, ndim):
    """Axes of length 1 after the lanes, so that the leading axes of a lane align from the right."""
    shape = shape_of(x)
    if not batched or len(shape) - 1 == ndim:
        return x
    return reshape(x, shape=(shape[0], *(1,) * (ndim - len(shape) + 1), *shape[1:]))


def as_columns(b, ndim=None):
    """A right-hand side as a matrix: a vector (one axis, or `ndim` says so) becomes a single column."""
    return expand_dims(b, -1) if (ndim_of(b) if ndim is None else ndim) == 1 else b


def without_last(x):
    """x without its last axis, which has length 1."""
    return reshape(x, shape=shape_of(x)[:-1])
