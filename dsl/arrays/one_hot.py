"""`OneHot`: rows with a single 1, stored as the positions of the ones."""

from typing import Any

import numpy as np

from ...dispatch import Array, Container, DTypeError, array_type, describe, isa
from .. import (
    arange_like,
    astype,
    bilinear_family,
    claim,
    combine_rule,
    divide,
    elementwise_family,
    equal,
    expand_dims,
    index,
    index_add,
    join_index,
    matmul,
    multiply,
    ones_like,
    reduced_axes,
    reshape,
    stop_gradient,
    sum,
    take,
    where,
    zeros_like,
)
from .diagonal import Diagonal, check_inner
from .zeros import Zeros, zero_like, zeros_elementwise, zeros_product


@array_type(leaves=("indices",), static=("n", "dtype"), structure_ndim=1)
class OneHot(Container):
    """One-hot vectors: 1 at a position, 0 elsewhere, along a last axis of length n.

    indices: integer array of shape (…), positions in [0, n); the array has shape (…, n). n: int. dtype: of the
    elements, float64 unless given. Raises DTypeError for other indices, IndexError for positions out of range (where
    the positions are plain arrays). `H @ W` reads rows of W, `W @ H` adds columns of W up, neither forms the matrix.

    >>> import numpy as np, polyad as pa
    >>> H = pa.OneHot(np.array([2, 0]), 3)
    >>> H @ np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    array([[5., 6.],
           [1., 2.]])
    >>> H.sum(axis=0)
    array([1., 0., 1.])
    """

    def __init__(self, indices: Any, n: int, dtype: Any = np.float64) -> None:
        indices = np.asarray(indices) if isa(indices, (int, list)) else indices
        if indices.dtype.kind not in "iu":
            raise DTypeError(f"OneHot: positions are integers, not {describe(indices)}")
        if isa(indices, np.ndarray) and indices.size and not 0 <= indices.min() <= indices.max() < n:
            raise IndexError(f"OneHot: positions lie between {indices.min()} and {indices.max()}, not in [0, {n})")
        self.indices, self.n, self.dtype = indices, int(n), np.dtype(dtype)

    @property
    def shape(self):
        return (*self.indices.shape, self.n)

    def mask(self) -> Any:
        """Return a dense boolean array, true where the ones are."""
        return equal(expand_dims(self.indices, -1), arange_like(self.indices, self.n))

    def dense(self) -> Any:
        return astype(self.mask(), dtype=self.dtype)


def one_like(x):
    return np.ones((), x.dtype)[()]


@claim(elementwise_family, OneHot)
def one_hot_elementwise(op, *xs, **params):
    """Products with an array keep its elements at the ones and are exactly 0 elsewhere, whatever stands there."""
    if op is stop_gradient:
        return xs[0]
    if op is astype:
        return OneHot(xs[0].indices, xs[0].n, dtype=params["dtype"])
    if op is not multiply:
        return NotImplemented
    x, y = xs if isinstance(xs[0], OneHot) else xs[::-1]
    if isinstance(y, OneHot) or not getattr(y, "shape", ()):
        return NotImplemented
    return where(x.mask(), multiply(one_like(x), y), zero_like(x))


@combine_rule(Diagonal, OneHot, elementwise_family)
@claim(elementwise_family, Zeros, Diagonal, OneHot)
def diagonal_with_one_hot(op, *xs, **params):
    return NotImplemented


@combine_rule(Zeros, OneHot, elementwise_family)
def zeros_with_one_hot(op, *xs, **params):
    """As with any array, but for the quotient by exact zeros."""
    return NotImplemented if op is divide else zeros_elementwise(op, *xs, **params)


combine_rule(Zeros, OneHot, bilinear_family)(zeros_product)


# ---------------------------------------------------------------------- products
@matmul.method
def matmul_one_hot_left(x: OneHot, y: Array, /):
    """Rows of y, or elements of a vector."""
    check_inner(x, y)
    return multiply(one_like(x), take(y, x.indices, axis=0)) if len(y.shape) <= 2 else NotImplemented


@matmul.method
def matmul_one_hot_right(x: Array, y: OneHot, /):
    """Columns of x, added up at the positions."""
    check_inner(x, y)
    if y.indices.ndim != 1:
        return NotImplemented
    x = multiply(x, one_like(y))
    return index_add(zeros_like(x, shape=(*x.shape[:-1], y.n)), x, y.indices, spec=(Ellipsis, "array"))


@matmul.method
def matmul_one_hots(x: OneHot, y: OneHot, /):
    """The second map after the first."""
    check_inner(x, y)
    if y.indices.ndim != 1:
        return NotImplemented
    return OneHot(take(y.indices, x.indices, axis=0), y.n, multiply(one_like(x), one_like(y)).dtype)


@matmul.method
def matmul_one_hot_diagonal(x: OneHot, y: Diagonal, /):
    check_inner(x, y)
    return multiply(x, y.diag if x.ndim == 1 else expand_dims(y.diag, -2))


@matmul.method
def matmul_diagonal_one_hot(x: Diagonal, y: OneHot, /):
    check_inner(x, y)
    return multiply(x.diag if y.ndim == 1 else expand_dims(x.diag, -1), y)


# ---------------------------------------------------------------------- sums, index
@sum.method
def sum_one_hot(x: OneHot, /, axis=None, dtype=None, keepdims=False):
    """Over the last axis: ones; over all others: how often each position occurs."""
    ndim, axes = x.ndim, set(reduced_axes("sum", x, axis))
    if keepdims or ndim - 1 not in axes and len(axes) < ndim - 1:
        return NotImplemented
    one = sum(one_like(x), dtype=dtype)
    if ndim - 1 in axes:
        return sum(ones_like(x.indices, dtype=one.dtype), axis=tuple(axes - {ndim - 1}))
    return index_add(zeros_like(x.indices, dtype=one.dtype, shape=x.n), one, reshape(x.indices, shape=-1), spec=("array",))


@index.method
def index_one_hot(x: OneHot, /, *arrays: Array, spec):
    """Some of the vectors are one-hot again."""
    parts = join_index(spec, arrays)
    if Ellipsis in spec or len([part for part in parts if part is not None]) >= x.ndim:
        return NotImplemented
    return OneHot(index(x.indices, *arrays, spec=spec), x.n, x.dtype)
