"""Arrays with missing elements, of any array: whatever meets a missing element is missing, and reductions leave it out."""

import numpy as np

import polyad as pa


@pa.array_type(leaves=("value", "missing"))
class Masked(pa.Container):
    """Array `value` whose elements are missing where the boolean array `missing` of its shape is true.

    It has no dense form: a missing element is no number. `filled` says which one to take.
    """

    def __init__(self, value, missing=False):
        self.value = pa.asarray(value)
        self.missing = missing if hasattr(missing, "shape") else np.full(self.value.shape, missing)

    shape = property(lambda self: self.missing.shape)
    dtype = property(lambda self: self.value.dtype)

    def filled(self, number):
        """The array with a number in the place of each missing element."""
        return pa.where(self.missing, number, self.value)


def value_of(x):
    return x.value if isinstance(x, Masked) else x


def is_missing(xs):
    """Where an element of any of them is missing."""
    found = [x.missing for x in xs if isinstance(x, Masked)]
    missing = found[0]
    for other in found[1:]:
        missing = pa.logical_or(missing, other)
    return missing


def masked(value, missing):
    """A Masked whose mask has the value's shape."""
    if tuple(missing.shape) != tuple(value.shape):
        missing = pa.broadcast_to(missing, shape=value.shape)
    return Masked(value, missing)


@pa.claim(pa.elementwise_family, Masked)
def masked_elementwise(op, *xs, **params):
    return masked(op(*map(value_of, xs), **params), is_missing(xs))


NEUTRAL = {pa.sum: 0, pa.prod: 1, pa.max: -np.inf, pa.min: np.inf, pa.all: True, pa.any: False}


@pa.reduction_family.method
def masked_reduction(op, x: Masked, /, axis=None, keepdims=False, **params):
    """Of the elements that are there; missing where there are none."""
    if op not in NEUTRAL:
        return NotImplemented
    y = op(x.filled(NEUTRAL[op]), axis=axis, keepdims=keepdims, **params)
    return Masked(y, pa.all(x.missing, axis=axis, keepdims=keepdims))


@pa.mean.method
def mean_masked(x: Masked, /, axis=None, dtype=None, keepdims=False):
    there = pa.sum(pa.where(x.missing, 0.0, 1.0), axis=axis, keepdims=keepdims)
    y = pa.sum(x.filled(0.0), axis=axis, dtype=dtype, keepdims=keepdims) / pa.maximum(there, 1.0)
    return Masked(y, pa.equal(there, 0.0))


@pa.linear_family.method
def masked_linear(op, x: Masked, /, *indices: pa.Array, **params):
    if op in (pa.index_add, pa.index_set):
        return NotImplemented
    return Masked(op(x.value, *indices, **params), op(x.missing, *indices, **params))


@pa.matmul.method
def matmul_masked(x: Masked, y: Masked, /):
    """Missing elements take no part in the sums."""
    return masked(pa.matmul(x.filled(0.0), y.filled(0.0)), np.bool_(False))


@pa.concatenate.method
def concatenate_masked(*xs: Masked, axis=0):
    return Masked(pa.concatenate([x.value for x in xs], axis=axis), pa.concatenate([x.missing for x in xs], axis=axis))
