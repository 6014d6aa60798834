"""Symmetric Toeplitz matrices: one value per distance from the diagonal. Any elementwise function keeps the
structure."""

import numpy as np

import polyad as pa


@pa.array_type(leaves=("column",), linear=True, structure_ndim=2)
class Toeplitz(pa.Container):
    """Symmetric Toeplitz matrix of its first column, shape (…, n); the matrix has shape (…, n, n)."""

    def __init__(self, column):
        self.column = column

    @property
    def shape(self):
        return (*self.column.shape, self.column.shape[-1])

    @property
    def dtype(self):
        return self.column.dtype

    def dense(self):
        steps = np.arange(self.shape[-1])
        return self.column[..., np.abs(steps[:, None] - steps)]


@pa.claim(pa.elementwise_family, Toeplitz)
def toeplitz_elementwise(op, *xs, **params):
    """Of Toeplitz matrices of one size and numbers; with other arrays the result has no structure."""
    if len({x.shape[-1] for x in xs if isinstance(x, Toeplitz)}) != 1:
        return NotImplemented
    if any(getattr(x, "shape", ()) for x in xs if not isinstance(x, Toeplitz)):
        return NotImplemented
    return Toeplitz(op(*[x.column if isinstance(x, Toeplitz) else x for x in xs], **params))


@pa.transpose.method
def transpose_toeplitz(x: Toeplitz, /, axes=None):
    return x if x.ndim == 2 else NotImplemented


@pa.sum.method
def sum_toeplitz(x: Toeplitz, /, axis=None, dtype=None, keepdims=False):
    """Of all elements: each distance but 0 occurs twice."""
    if axis is not None or dtype is not None or keepdims:
        return NotImplemented
    n = x.shape[-1]
    return pa.sum(x.column * np.where(np.arange(n) == 0, n, 2 * (n - np.arange(n))))
