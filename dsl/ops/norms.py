"""Norms of vectors and matrices. At 0 every norm has the value 0 and, by convention, the slope 0."""

import math
from typing import Any

import numpy as np

from ...dispatch import ShapeError
from ..avals import dtype_of, ndim_of, normalize_axis, reduced_axes, shape_of
from ..card import composite
from ..samples import case, complex_normal, distinct, normal
from .arithmetic import subtract
from .compare import not_equal
from .complex import abs, astype, square_of_abs
from .exponential import power, sqrt
from .factorize import svdvals
from .indexing import describe_shape
from .matrices import as_inexact, check_matrix, real_dtype
from .reduce import in_single, is_half, max, min, sum
from .shape import expand_dims, moveaxis

orders = [case(distinct(2, 3), ord=p, axis=1) for p in (1, 2, 3, 0.5, -1, math.inf, -math.inf)]
matrix_orders = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def _root_of_squares(x, axis, keepdims):
    """The root of the sum of squares; of half precision in single precision, in which the squares are numbers."""
    if dtype_of(x) == np.float16:
        return astype(_root_of_squares(astype(x, dtype=np.float32), axis, keepdims), dtype=np.float16)
    return sqrt(sum(square_of_abs(x), axis=axis, keepdims=keepdims))


def _largest(x, axis, keepdims=False):
    """The largest of numbers that are not negative; 0 of none."""
    none = any(shape_of(x)[a] == 0 for a in reduced_axes("norm", x, axis))
    return (sum if none else max)(x, axis=axis, keepdims=keepdims)


def _vector_norm(x, axis, keepdims, ord):
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if ord == 0:
        return astype(sum(not_equal(x, 0), axis=axis, keepdims=keepdims), dtype=real_dtype(dtype_of(x)))
    sizes = abs(x)
    if ord == 1:
        return sum(sizes, axis=axis, keepdims=keepdims)
    if ord == math.inf:
        return _largest(sizes, axis, keepdims)
    if ord == -math.inf:
        return min(sizes, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ShapeError(f"norm: ord={ord!r} is an order for matrices, and this is the norm of vectors; give two axes")
    return power(sum(power(sizes, ord), axis=axis, keepdims=keepdims), 1.0 / ord)


def _matrix_norm(x, axes, keepdims, ord):
    if ord in (None, "fro", "f"):
        return _root_of_squares(x, axes, keepdims)
    row, column = axes
    if ord in (1, -1, math.inf, -math.inf):
        inner, outer = (row, column) if ord in (1, -1) else (column, row)
        sums = sum(abs(x), axis=inner, keepdims=True)
        y = _largest(sums, outer, True) if ord > 0 else min(sums, axis=outer, keepdims=True)
        return y if keepdims else sum(y, axis=axes)
    if ord in (2, -2, "nuc"):
        s = svdvals(moveaxis(x, axes, (-2, -1)))
        y = sum(s, axis=-1) if ord == "nuc" else _largest(s, -1) if ord == 2 else min(s, axis=-1)
        return expand_dims(y, axis=tuple(sorted(axes))) if keepdims else y
    raise ShapeError(f"norm: ord={ord!r} is no order for matrices; it is one of {', '.join(map(repr, matrix_orders))}")


@composite(home="linalg", samples=[*orders, case(normal(2, 3)), case(complex_normal(2, 3), axis=0, keepdims=True), case(
    normal(2, 3, 2), axis=(0, 2), ord=1)])  # fmt: skip
def vector_norm(x, /, axis=None, keepdims=False, ord: Any = 2):
    """Norm of vectors: (sum of |x|**ord)**(1/ord), real.

    x: numeric array. axis: int, tuple (the axes together make one vector) or None for all. ord: a number; inf for the
    largest and -inf for the smallest |x|, 0 for how many are not 0. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.grad(lambda x: pa.linalg.vector_norm(x)**2)(np.zeros(2))
    array([0., 0.])
    """
    if is_half(x):
        return in_single(vector_norm, x, axis=axis, keepdims=keepdims, ord=ord)
    return _vector_norm(as_inexact(x), axis, keepdims, ord)


@composite(home="linalg", samples=[
    *[case(distinct(2, 3, 3), ord=p) for p in matrix_orders], case(complex_normal(3, 2)),
    case(complex_normal(3, 2), ord=2, keepdims=True), case(normal(2, 3), ord="nuc", keepdims=True),
])  # fmt: skip
def matrix_norm(x, /, keepdims=False, ord: Any = "fro"):
    """Norm of matrices, real: shape (…, m, n) to (…), or (…, 1, 1) with keepdims.

    ord: "fro" for the root of the sum of squares, "nuc" for the sum of the singular values, 2 and -2 for the largest and the
    smallest one, 1 and -1 for the largest and smallest sum of |x| over a column, inf and -inf over a row. Raises ShapeError.
    """
    check_matrix("matrix_norm", x)
    if is_half(x):
        return in_single(matrix_norm, x, keepdims=keepdims, ord=ord)
    return _matrix_norm(as_inexact(x), (ndim_of(x) - 2, ndim_of(x) - 1), keepdims, ord)


@composite(home="linalg", samples=[
    case(normal(3)), case(normal(2, 3)), case(normal(2, 3), ord="nuc"), case(normal(2, 3, 2), axis=1, ord=3),
    case(normal(2, 3, 2), axis=(2, 0), ord=1, keepdims=True), case(normal(2, 3, 2), axis=(0, -1), ord=2),
    case(complex_normal(2, 3), axis=-1), case(normal(2, 2, 2)),
])  # fmt: skip
def norm(x, /, ord=None, axis=None, keepdims=False):
    """Norm of vectors along one axis, or of matrices along two, as NumPy's function of this name has it.

    axis: int for vectors, pair of ints for matrices; None for the whole of x, which then has one axis or two, or any number
    if ord is None (the root of the sum of squares). ord: as for `vector_norm` or `matrix_norm`. Raises ShapeError.
    """
    if is_half(x):
        return in_single(norm, x, ord=ord, axis=axis, keepdims=keepdims)
    ndim = ndim_of(x)
    if axis is None and ord is None:
        return _vector_norm(as_inexact(x), None, keepdims, 2)
    if axis is None and ndim not in (1, 2):
        raise ShapeError(f"norm: {describe_shape(x)} with ord={ord!r}: give axis, one for vectors or two for matrices")
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalize_axis("norm", a, ndim) for a in axes)
    if len(axes) == 1:
        return _vector_norm(as_inexact(x), axes[0], keepdims, ord)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"norm: axis={axis} is neither one axis nor two different ones")
    return _matrix_norm(as_inexact(x), axes, keepdims, ord)


# ---------------------------------------------------------------------- distances
@composite(kernel=None, numpy=(), samples=[
    case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(complex_normal(2, 3), normal(2, 3), axis=0),
    case(normal(2, 1, 3), normal(4, 3), axis=None),
])  # fmt: skip
def sqeuclidean(x, y, /, axis=-1):
    """Squared Euclidean distance along an axis: the sum of |x - y|**2, real and smooth, also where x and y are equal.

    x, y: numeric arrays whose shapes broadcast. axis: int, tuple, or None for all. Raises ShapeError. SciPy has it as
    `scipy.spatial.distance.sqeuclidean`.

    >>> import numpy as np, polyad as pa
    >>> kernel = lambda x, y: pa.exp(-0.5 * pa.sqeuclidean(x, y))
    >>> pa.jacfwd(pa.grad(kernel), 1)(np.ones(2), np.ones(2))
    array([[1., 0.],
           [0., 1.]])
    """
    return sum(square_of_abs(as_inexact(subtract(x, y))), axis=axis)


METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")


@composite(kernel=None, numpy=(), samples=[
    case(normal(2, 3), normal(4, 3)), case(normal(2, 3), normal(4, 3), metric="sqeuclidean"),
    case(complex_normal(2, 2), normal(3, 2), metric="cityblock"), case(distinct(2, 3), normal(1, 3), metric="chebyshev"),
])  # fmt: skip
def cdist(x, y, /, metric="euclidean"):
    """Distances of each of m points from each of n: shape (…, m, n).

    x: shape (…, m, d). y: shape (…, n, d). metric: "euclidean", its square "sqeuclidean", "cityblock" (the sum of |x - y|)
    or "chebyshev" (the largest). Made of differences, so that near points lose no digits; it takes memory for (…, m, n, d).
    Functions of squared distances are smooth where points meet: see `sqeuclidean`. Raises ShapeError. Source: SciPy's
    function of this name.
    """
    if metric not in METRICS:
        raise ShapeError(f"cdist: metric={metric!r} is not offered; it is one of {', '.join(METRICS)}")
    d = subtract(expand_dims(x, -2), expand_dims(y, -3))
    if metric == "sqeuclidean":
        return sum(square_of_abs(as_inexact(d)), axis=-1)
    return _vector_norm(as_inexact(d), -1, False, {"euclidean": 2, "cityblock": 1, "chebyshev": math.inf}[metric])
