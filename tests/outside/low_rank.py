"""Matrices of low rank: u @ v.T, never formed. Its leaves do not enter linearly, so its gradient is a `Tangent`."""

import numpy as np

import polyad as pa


@pa.array_type(leaves=("u", "v"), structure_ndim=2)
class LowRank(pa.Container):
    """The matrix u @ v.T of u, shape (…, n, k), and v, shape (…, m, k): shape (…, n, m)."""

    def __init__(self, u, v):
        if u.shape[-1] != v.shape[-1]:
            raise pa.ShapeError(f"LowRank: the ranks differ: {u.shape[-1]} and {v.shape[-1]}")
        self.u, self.v = u, v

    @property
    def shape(self):
        return (*self.u.shape[:-1], self.v.shape[-2])

    @property
    def dtype(self):
        return np.result_type(self.u.dtype, self.v.dtype)

    def dense(self):
        return self.u @ self.v.mT


@pa.matmul.method
def matmul_left(x: LowRank, y: pa.Array, /):
    return x.u @ (x.v.mT @ y) if len(y.shape) == 2 or x.ndim == 2 and len(y.shape) == 1 else NotImplemented


@pa.matmul.method
def matmul_right(x: pa.Array, y: LowRank, /):
    return (x @ y.u) @ y.v.mT if len(x.shape) >= 2 and y.ndim == 2 else NotImplemented


@pa.matmul.method
def matmul_both(x: LowRank, y: LowRank, /):
    return LowRank(x.u, y.v @ (y.u.mT @ x.v)) if x.ndim == y.ndim == 2 else NotImplemented


@pa.add.method
def add_low_rank(x: LowRank, y: LowRank, /):
    """The ranks add up."""
    if x.shape != y.shape:
        return NotImplemented
    return LowRank(pa.concatenate([x.u, y.u], axis=-1), pa.concatenate([x.v, y.v], axis=-1))


@pa.negative.method
def negative_low_rank(x: LowRank, /):
    return LowRank(-x.u, x.v)


@pa.multiply.method
def multiply_left(x: LowRank, y: pa.Array, /):
    return LowRank(x.u * y, x.v) if not getattr(y, "shape", ()) else NotImplemented


@pa.multiply.method
def multiply_right(x: pa.Array, y: LowRank, /):
    return multiply_left(y, x)


@pa.multiply.method
def multiply_both(x: LowRank, y: LowRank, /):
    return NotImplemented


@pa.transpose.method
def transpose_low_rank(x: LowRank, /, axes=None):
    return LowRank(x.v, x.u) if x.ndim == 2 and axes in (None, (1, 0)) else NotImplemented


@pa.sum.method
def sum_low_rank(x: LowRank, /, axis=None, dtype=None, keepdims=False):
    if x.ndim != 2 or axis is not None or dtype is not None or keepdims:
        return NotImplemented
    return pa.sum(pa.sum(x.u, axis=0) * pa.sum(x.v, axis=0))
