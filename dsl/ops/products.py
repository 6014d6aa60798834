"""Products of arrays over chosen axes: tensordot, inner, vdot, kron, cross, and stacks of matrices with vectors."""

import math
from typing import Any

from ...dispatch import ShapeError, describe
from ..avals import ndim_of, normalize_axis, shape_of
from ..card import composite
from ..samples import case, complex_normal, normal
from .arithmetic import multiply, subtract
from .complex import conjugated
from .create import beside
from .indexing import getitem
from .linalg import counted, matmul
from .shape import expand_dims, moveaxis, ravel, reshape, squeeze, stack, transpose


def rearranged(x, axes, shape):
    """x with its axes permuted, then in another shape; nothing is done where nothing changes."""
    if axes != tuple(range(len(axes))):
        x = transpose(x, axes=axes)
    return x if shape_of(x) == shape else reshape(x, shape=shape)


def _paired_axes(x, y, axes):
    """The axes of x and those of y that `axes` pairs. Raises ShapeError."""
    if hasattr(axes, "__index__"):
        count = axes.__index__()
        if not 0 <= count <= min(ndim_of(x), ndim_of(y)):
            raise ShapeError(f"tensordot: axes={count}, but {describe(x)} and {describe(y)} do not have as many axes")
        return list(range(ndim_of(x) - count, ndim_of(x))), list(range(count))
    try:
        left, right = axes
    except (TypeError, ValueError):
        raise ShapeError(f"tensordot: axes is {axes!r}; give an integer, or (axes of x, axes of y)") from None
    listed = lambda a: [a] if hasattr(a, "__index__") else list(a)
    left = [normalize_axis("tensordot", a, ndim_of(x)) for a in listed(left)]
    right = [normalize_axis("tensordot", a, ndim_of(y)) for a in listed(right)]
    if len(left) != len(right) or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ShapeError(f"tensordot: axes {axes!r} must pair equally many axes of both arrays, each once")
    return left, right


@composite(
    numpy=("tensordot", "linalg.tensordot"),
    samples=[
        case(normal(2, 3, 4), normal(3, 4, 5)), case(normal(2, 3), normal(3, 2), axes=1), case(normal(2, 3), normal(4), axes=0),
        case(normal(2, 3, 4), normal(4, 2), axes=((0, 2), (1, 0))), case(complex_normal(2, 3), complex_normal(3), axes=1),
    ],
)  # fmt: skip
def tensordot(x, y, /, axes: Any = 2):
    """Sum of products over pairs of axes: the last `axes` of x with the first of y, or the pairs (axes of x, axes of y).

    The result has the other axes of x, then those of y. Raises ShapeError if paired lengths differ.

    >>> import numpy as np, polyad as pa
    >>> pa.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    left, right = _paired_axes(x, y, axes)
    sx, sy = shape_of(x), shape_of(y)
    if [sx[a] for a in left] != [sy[a] for a in right]:
        raise ShapeError(f"tensordot: the paired axes {axes!r} of {describe(x)} and {describe(y)} differ in length")
    free_x = [a for a in range(len(sx)) if a not in left]
    free_y = [a for a in range(len(sy)) if a not in right]
    rows, inner_, columns = (math.prod(s[a] for a in chosen) for s, chosen in ((sx, free_x), (sx, left), (sy, free_y)))
    product = matmul(rearranged(x, (*free_x, *left), (rows, inner_)), rearranged(y, (*right, *free_y), (inner_, columns)))
    shape = (*[sx[a] for a in free_x], *[sy[a] for a in free_y])
    return product if shape_of(product) == shape else reshape(product, shape=shape)


@composite(
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(4, 3)), case(normal(2, 3), 2.0),
             case(complex_normal(3), normal(2, 3))],
)  # fmt: skip
def inner(x, y, /):
    """Sum of products over the last axes of x and y, without conjugation. Raises ShapeError if their lengths differ."""
    if not ndim_of(x) or not ndim_of(y):
        return multiply(counted(x, y), counted(y, x))
    if shape_of(x)[-1] != shape_of(y)[-1]:
        raise ShapeError(f"inner: the last axes of {describe(x)} and {describe(y)} differ in length")
    return tensordot(x, y, axes=((-1,), (-1,)))


@composite(samples=[case(normal(3), normal(3)), case(complex_normal(2, 2), complex_normal(4)), case(normal(), normal())])
def vdot(x, y, /):
    """Sum of conj(x) * y over all elements, both arrays flattened. Raises ShapeError if their sizes differ."""
    x, y = ravel(x), ravel(y)
    if shape_of(x) != shape_of(y):
        raise ShapeError(f"vdot: {describe(x)} and {describe(y)} differ in their number of elements")
    return matmul(conjugated(x), y)


@composite(
    samples=[case(normal(2), normal(3)), case(normal(2, 2), normal(2, 3)), case(normal(2, 2), normal(3)),
             case(complex_normal(2), normal(2, 1, 2)), case(normal(), normal(2)), case(2.0, normal(2))],
)  # fmt: skip
def kron(x, y, /):
    """Kronecker product: every element of x times the whole of y, laid out as blocks; shapes align at the last axis."""
    ndim = max(ndim_of(x), ndim_of(y))
    x, y = beside(x, y), beside(y, x)
    sx, sy = ((1,) * (ndim - ndim_of(z)) + shape_of(z) for z in (x, y))
    a = reshape(x, shape=tuple(n for s in sx for n in (s, 1)))
    b = reshape(y, shape=tuple(n for s in sy for n in (1, s)))
    return reshape(multiply(a, b), shape=tuple(n * m for n, m in zip(sx, sy, strict=True)))


@composite(
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3, 2), normal(3, 2), axis=0),
             case(normal(3, 2), normal(2, 3), axisa=0, axisc=0), case(complex_normal(3), complex_normal(4, 1, 3))],
)  # fmt: skip
def cross(x, y, /, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Vector product of three-vectors along an axis; the other axes broadcast.

    axisa, axisb, axisc: the axis that holds the vectors of x, of y and of the result; axis: one for all three. Raises
    ShapeError for vectors of other lengths than 3.
    """
    places = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    parts = []
    for z, place in zip((x, y), places):
        place = normalize_axis("cross", place, ndim_of(z))
        if shape_of(z)[place] != 3:
            raise ShapeError(f"cross: axis {place} of {describe(z)} is not of length 3")
        z = moveaxis(z, place, -1)
        parts.append([getitem(z, (..., i)) for i in range(3)])
    (x0, x1, x2), (y0, y1, y2) = parts
    product = lambda a, b, c, d: subtract(multiply(a, b), multiply(c, d))
    return stack([product(x1, y2, x2, y1), product(x2, y0, x0, y2), product(x0, y1, x1, y0)], axis=places[2])


@composite(samples=[case(normal(2, 3), normal(3)), case(normal(4, 2, 3), normal(4, 3)), case(complex_normal(2, 3), normal(3))])
def matvec(x, y, /):
    """Matrices times vectors: shapes (…, n, k) and (…, k) give (…, n); leading axes broadcast. Raises ShapeError."""
    _stacks("matvec", x, 2, y, 1)
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


@composite(samples=[case(normal(2), normal(2, 3)), case(normal(4, 2), normal(4, 2, 3)), case(complex_normal(2), normal(2, 3))])
def vecmat(x, y, /):
    """Conjugated vectors times matrices: shapes (…, k) and (…, k, m) give (…, m); leading axes broadcast. Raises
    ShapeError."""
    _stacks("vecmat", x, 1, y, 2)
    return squeeze(matmul(expand_dims(conjugated(x), -2), y), -2)


def _stacks(name, x, ndim_x, y, ndim_y):
    if ndim_of(x) < ndim_x or ndim_of(y) < ndim_y:
        raise ShapeError(f"{name}: {describe(x)} and {describe(y)}; it takes at least {ndim_x} and {ndim_y} axes")
