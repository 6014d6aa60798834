"""`Zeros`: an array of zeros that stores nothing but its shape and dtype."""

from builtins import any as any_
from typing import Any

import numpy as np

from ...dispatch import Container, ShapeError, array_type
from .. import (
    Aval,
    all,
    any,
    bilinear_family,
    broadcast_to,
    claim,
    concatenate,
    divide,
    elementwise_family,
    eval_shape,
    linear_family,
    max,
    min,
    multiply,
    prod,
    reduction_family,
    zeros,
)


@array_type(static=("shape", "dtype"), linear=True)
class Zeros(Container):
    """Array of zeros without storage.

    shape: int or tuple. dtype: of the elements, float64 unless given. Raises ShapeError for negative lengths.
    Its zeros are exact: `0 * x`, `0 / x` and matrix products with it are Zeros even where x holds inf or NaN, as for
    the empty places of a sparse matrix (`Zeros / Zeros` is NaN). It has no leaves, so `grad` refuses it like an
    integer.

    >>> import numpy as np, polyad as pa
    >>> pa.Zeros((2, 3)) @ np.ones((3, 4)) + 1.0
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """

    always_zero = True

    def __init__(self, shape: Any, dtype: Any = np.float64) -> None:
        self.shape = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        self.dtype = np.dtype(dtype)
        if any_(n < 0 for n in self.shape):
            raise ShapeError(f"Zeros: negative length in the shape {list(self.shape)}")

    def dense(self) -> Any:
        return zeros(self.shape, dtype=self.dtype)

    def lanes(self, axis: int, take: Any) -> Any:
        return Zeros((*self.shape[:axis], *self.shape[axis + 1 :]), self.dtype)

    def stacked(self, axis: int, size: int, give: Any) -> Any:
        return Zeros((*self.shape[:axis], size, *self.shape[axis:]), self.dtype)

    def __repr__(self):
        return f"Zeros({self.shape}, {self.dtype})"


def like(op, *xs, **params):
    """Zeros of the shape and dtype that the operation would give; without axes, the number 0."""
    result = eval_shape(op, *xs, **params)
    return Zeros(result.shape, result.dtype) if result.shape else zero_like(result)


def zero_like(x):
    """The number 0 of x's dtype."""
    return np.zeros((), x.dtype)[()]


@claim(elementwise_family, Zeros)
def zeros_elementwise(op, *xs, **params):
    """The operation on a single zero in place of each array of zeros."""
    if op is multiply or (op is divide and isinstance(xs[0], Zeros) and not isinstance(xs[1], Zeros)):
        return like(op, *xs)
    y = op(*[zero_like(x) if isinstance(x, Zeros) else x for x in xs], **params)
    if {type(x) for x in xs} == {Zeros} and y == 0:
        return like(op, *xs, **params)
    shape = eval_shape(op, *xs, **params).shape
    return y if y.shape == shape else broadcast_to(y, shape=shape)


@linear_family.method
def zeros_linear(op, x: Zeros, /, *arrays, **params):
    """Changes of shape and reading; writing into zeros makes them something else."""
    return like(op, x, *arrays, **params) if op.card.linear in (None, (0,)) else NotImplemented


@claim(bilinear_family, Zeros)
def zeros_product(op, x, y, **params):
    return like(op, x, y, **params)


@reduction_family.method
def zeros_reduction(op, x: Zeros, /, **params):
    if op.card.linear is None and (op not in (max, min, all, any, prod) or not x.size):
        return NotImplemented
    return like(op, x, **params)


@concatenate.method
def concatenate_zeros(*xs: Zeros, axis=0):
    return like(concatenate, *[Aval(x.shape, x.dtype) for x in xs], axis=axis)
