"""Sparse matrices by coordinates: a linear type with integer leaves, which its tangents share."""

import numpy as np

import polyad as pa


@pa.array_type(leaves=("values", "rows", "columns"), static=("n", "m"), linear=True, structure_ndim=2)
class Sparse(pa.Container):
    """The n×m matrix of `values` at (rows, columns), each of shape (…, k); what stands at one place twice adds up."""

    def __init__(self, values, rows, columns, n, m):
        self.values, self.rows, self.columns, self.n, self.m = values, rows, columns, n, m

    shape = property(lambda self: (*self.values.shape[:-1], self.n, self.m))
    dtype = property(lambda self: self.values.dtype)

    def dense(self):
        if self.ndim > 2:
            return pa.vmap(lambda lane: lane.dense())(self)
        empty = pa.zeros_like(self.values, shape=(self.n, self.m))
        return pa.at(empty, (self.rows, self.columns)).add(self.values)


@pa.matmul.method
def matmul_sparse(x: Sparse, y: pa.Array, /):
    """With a vector, without forming the matrix."""
    if x.ndim != 2 or len(y.shape) != 1 or y.shape[0] != x.m:
        return NotImplemented
    dtype = np.result_type(x.dtype, y.dtype)
    return pa.at(pa.zeros_like(x.values, dtype=dtype, shape=x.n), x.rows).add(x.values * pa.take(y, x.columns))


@pa.multiply.method
def multiply_sparse(x: Sparse, y: pa.Array, /):
    return Sparse(x.values * y, x.rows, x.columns, x.n, x.m) if not getattr(y, "shape", ()) else NotImplemented


@pa.multiply.method
def multiply_by_sparse(x: pa.Array, y: Sparse, /):
    return multiply_sparse(y, x)


@pa.multiply.method
def multiply_two(x: Sparse, y: Sparse, /):
    return NotImplemented
