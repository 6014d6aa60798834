"""Matrix products."""

import math

import numpy as np

from ...dispatch import ShapeError, describe
from ..aliasing import unlinked
from ..avals import Aval, dtype_of, ndim_of, normalize_axis, number_kind, shape_of
from ..card import bilinear, composite
from ..samples import case, complex_normal, normal
from .arithmetic import multiply
from .complex import conjugated
from .create import beside
from .matrices import pad_lanes
from .reduce import sum
from .shape import expand_dims, matrix_transpose, moveaxis, ravel, reshape, transpose


@bilinear(
    samples=[
        case(normal(2, 3), normal(3, 4)), case(normal(3), normal(3)), case(normal(2, 3), normal(3)),
        case(normal(3), normal(3, 2)), case(normal(4, 2, 3), normal(3, 2)), case(normal(2, 3), normal(4, 3, 2)),
        case(normal(4, 2, 3), normal(3)), case(complex_normal(2, 3), complex_normal(3, 2)),
    ],
)  # fmt: skip
def matmul(x, y, /):
    """Matrix product x @ y, as NumPy and the array API define it.

    x: shape (…, n, k) or (k,); y: shape (…, k, m) or (k,); leading axes broadcast, a vector is a row on the left and a column
    on the right, and its axis is dropped from the result. Raises ShapeError if the inner lengths differ or an argument has
    no axis.
    """


@matmul.rule("shape")
def matmul_shape(x, y):
    if not x.ndim or not y.ndim:
        raise ShapeError(f"matmul: {x} and {y}: a number has no matrix product; use multiply")
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise ShapeError(f"matmul: inner lengths differ: {x} @ {y}")
    try:
        lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise ShapeError(f"matmul: leading axes do not broadcast: {x} @ {y}") from None
    shape = (*lead, *x.shape[-2:-1], *(y.shape[-1:] if y.ndim > 1 else ()))
    return Aval(shape, np.result_type(x.dtype, y.dtype))


def _matrices(ct, x, y):
    """ct, x and y of z = x @ y with vectors as matrices: a row on the left, a column on the right."""
    if ndim_of(y) == 1:
        ct, y = expand_dims(ct, -1), expand_dims(y, -1)
    if ndim_of(x) == 1:
        ct, x = expand_dims(ct, -2), expand_dims(x, 0)
    return ct, x, y


def _turned(x):
    return x.T if type(x) is np.ndarray else unlinked(transpose, x, axes=None)


def _left(ct, z, x, y):
    m, n = len(x.shape), len(y.shape)
    if m == n == 2:
        return matmul(ct, _turned(y))
    if m == n == 1:
        return multiply(ct, y)
    if m == 1 and n == 2:
        return matmul(y, ct)
    ct, rows, columns = _matrices(ct, x, y)
    return _product_for(ct, matrix_transpose(columns), rows, x)


def _right(ct, z, x, y):
    m, n = len(x.shape), len(y.shape)
    if m == 2 and n in (1, 2):
        return matmul(_turned(x), ct)
    if m == n == 1:
        return multiply(ct, x)
    ct, rows, columns = _matrices(ct, x, y)
    return _product_for(matrix_transpose(rows), ct, columns, y)


def _product_for(a, b, matrices, x):
    """a @ b summed over the leading axes along which `matrices` were broadcast, in x's shape: these axes become part of
    the inner one, so that no product is formed for each of them."""
    lead = np.broadcast_shapes(shape_of(a)[:-2], shape_of(b)[:-2])
    own = (1,) * (len(lead) - ndim_of(matrices) + 2) + shape_of(matrices)[:-2]
    summed = [i for i, n in enumerate(lead) if own[i] != n]
    if summed:
        kept = [i for i, n in enumerate(lead) if own[i] == n]
        k, p = len(kept), len(lead)
        a, b = [reshape(m, shape=(*(1,) * (p + 2 - ndim_of(m)), *shape_of(m))) for m in (a, b)]
        a = transpose(a, axes=(*kept, p, *summed, p + 1))
        b = transpose(b, axes=(*kept, *summed, p, p + 1))
        inner = math.prod([*[lead[i] for i in summed], shape_of(a)[-1]])
        a = reshape(a, shape=(*shape_of(a)[: k + 1], inner))
        b = reshape(b, shape=(*shape_of(b)[:k], inner, shape_of(b)[-1]))
    product = matmul(a, b)
    return product if shape_of(product) == shape_of(x) else reshape(product, shape=shape_of(x))


matmul.rule("transpose")([_left, _right])


@matmul.rule("depends")
def matmul_depends(x, y):
    left, right = "j" if ndim_of(x) == 1 else "ij", "j" if ndim_of(y) == 1 else "jk"
    return f"{left},{right}->{left[:-1]}{right[1:]}"


@matmul.rule("batch")
def matmul_batch(size, xs, batched):
    x, y = xs
    x_lane, y_lane = ndim_of(x) - batched[0], ndim_of(y) - batched[1]
    if not x_lane or not y_lane:
        raise ShapeError("matmul: a number has no matrix product; use multiply")
    if not batched[1] and y_lane <= 2:
        return _lanes_of_rows(x, y)
    if not batched[0] and x_lane <= 2 and y_lane <= 2:
        return _lanes_of_columns(x, y)
    left = expand_dims(x, -2) if x_lane == 1 else x
    right = expand_dims(y, -1) if y_lane == 1 else y
    most = max(x_lane, y_lane, 2)
    left = pad_lanes(left, batched[0], most)
    right = pad_lanes(right, batched[1], most)
    z = matmul(left, right)
    shape = shape_of(z)
    keep = shape[:-2] + (shape[-2:-1] if x_lane > 1 else ()) + (shape[-1:] if y_lane > 1 else ())
    return z if keep == shape else reshape(z, shape=keep)


def _lanes_of_rows(x, y):
    """x[lane] @ y for a matrix or vector y: one product, of all rows of all lanes."""
    shape = shape_of(x)
    if len(shape) == 2:
        return matmul(x, y)
    z = matmul(reshape(x, shape=(math.prod(shape[:-1]), shape[-1])), y)
    return reshape(z, shape=(*shape[:-1], *shape_of(y)[1:]))


def _lanes_of_columns(x, y):
    """x @ y[lane] for a matrix or vector x: one product, of all columns of all lanes."""
    if ndim_of(y) == 2:
        return matmul(y, x if ndim_of(x) == 1 else transpose(x))
    if ndim_of(x) == 1:  # nothing to gain: each element of y is needed once
        return matmul(x, y)
    size, k, m = shape_of(y)
    z = matmul(x, reshape(transpose(y, axes=(1, 0, 2)), shape=(k, size * m)))
    return transpose(reshape(z, shape=(shape_of(x)[0], size, m)), axes=(1, 0, 2))


def counted(x, example):
    """x; but a Python number as an array, where NumPy's dtypes do: only operations on elements take numbers as weak."""
    return reshape(beside(x, example), shape=()) if number_kind(x) else x


@composite(
    samples=[
        case(normal(3), normal(3)), case(normal(2, 3), normal(3, 2)), case(normal(2, 3), 2.0),
        case(normal(2, 2, 3), normal(4, 3, 2)), case(complex_normal(2, 3), normal(2, 2, 3, 1)),
    ],
)  # fmt: skip
def dot(x, y, /):
    """Inner product of two vectors, matrix product of two matrices, or product with a number.

    With more axes, as NumPy's dot: the last axis of x is paired with the last but one of y, and the result has the other
    axes of x, then those of y; `matmul` goes through the leading axes of both together. Raises ShapeError.
    """
    if not ndim_of(x) or not ndim_of(y):
        return multiply(counted(x, y), counted(y, x))
    if ndim_of(x) < 2 or ndim_of(y) < 3:
        return matmul(x, y)
    *lead, k, m = shape_of(y)
    if shape_of(x)[-1] != k:
        raise ShapeError(f"dot: the last axis of {describe(x)} and the last but one of {describe(y)} differ in length")
    z = matmul(x, reshape(moveaxis(y, -2, 0), shape=(k, math.prod(lead) * m)))
    return reshape(z, shape=(*shape_of(x)[:-1], *lead, m))


@composite(samples=[case(normal(3), normal(2)), case(normal(2, 2), normal(3))])
def outer(x, y, /):
    """All products of an element of x and one of y, both flattened: shape (x.size, y.size)."""
    return multiply(expand_dims(ravel(x), 1), expand_dims(ravel(y), 0))


@composite(
    samples=[
        case(normal(2, 3), normal(3)), case(complex_normal(3), complex_normal(3)), case(normal(3, 2), normal(3, 1, 2), axis=0),
    ],
)  # fmt: skip
def vecdot(x, y, /, axis=-1):
    """Sum of conj(x) * y along an axis of each, which is equally long in both; the other axes broadcast.

    Returns the promoted dtype. Raises ShapeError if the lengths differ or an argument has no axis.
    """
    places = [normalize_axis("vecdot", axis, ndim_of(a)) for a in (x, y)]
    if shape_of(x)[places[0]] != shape_of(y)[places[1]]:
        raise ShapeError(f"vecdot: lengths along axis {axis} differ: {describe(x)} and {describe(y)}")
    x, y = [a if axis == -1 else moveaxis(a, place, -1) for a, place in zip((x, y), places)]
    product = multiply(conjugated(x), y)
    return sum(product, axis=-1, dtype=dtype_of(product))
