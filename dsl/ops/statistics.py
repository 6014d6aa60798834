"""Spread, order statistics, averages and covariances."""

import math
from typing import Any

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import dtype_of, is_number, ndim_of, normalize_axis, number_kind, reduced_axes, shape_of
from ..card import composite
from ..samples import case, complex_normal, distinct, integers, normal
from .arithmetic import add, clip, divide, maximum, multiply, square, subtract
from .complex import astype, conj, imag, is_complex, real
from .create import ones_like
from .exponential import sqrt
from .linalg import matmul
from .order_statistics import floating, middle, order_statistics, places_of
from .rearrange import array_like, diagonal
from .reduce import in_single, is_half, max, mean, min, sum
from .shape import broadcast_to, concatenate, expand_dims, matrix_transpose, reshape, transpose

axes = [case(normal(2, 3)), case(normal(2, 3), axis=0), case(normal(2, 3, 2), axis=(0, -1), keepdims=True)]


# ---------------------------------------------------------------------- spread
def squared_size(x):
    """|x|² without the root."""
    return add(square(real(x)), square(imag(x))) if is_complex(x) else square(x)


def over_freedom(name, total, count, ddof, correction):
    """A sum over its degrees of freedom, count - ddof, at least 0."""
    if correction is not None and ddof != 0:
        raise ShapeError(f"{name}: ddof and correction mean the same; give one of them")
    less = ddof if correction is None else correction
    if is_number(count) and is_number(less):
        return divide(total, count - less if count > less else 0)
    return divide(total, astype(maximum(subtract(count, less), 0), dtype=dtype_of(total)))


@composite(samples=[*axes, case(normal(4), ddof=1), case(complex_normal(3)), case(integers(4)),
                    case(normal(2, 4), axis=1, correction=1)])  # fmt: skip
def var(x, /, axis=None, dtype=None, ddof: Any = 0, keepdims=False, mean=None, correction=None):
    """Mean of the squared distances from the mean over axes, real.

    x: array; integers are converted to float64. dtype: to compute in. ddof (NumPy) or correction (array API): the sum is
    divided by the number of elements less this. mean: the mean over the same axes with keepdims, if known. axis: None for
    all, an int or a tuple. Raises ShapeError.
    """
    if dtype is None and is_half(x):
        return in_single(var, x, axis=axis, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction)
    x = floating(x) if dtype is None else astype(x, dtype=dtype)
    count = math.prod([shape_of(x)[a] for a in reduced_axes("var", x, axis)])
    center = mean_of(x, axis) if mean is None else mean
    total = sum(squared_size(subtract(x, center)), axis=axis, keepdims=keepdims)
    return over_freedom("var", total, count, ddof, correction)


def mean_of(x, axis):
    """The mean over axes, which stay."""
    return mean(x, axis=axis, keepdims=True)


@composite(samples=[*axes, case(normal(4), ddof=1), case(complex_normal(3)), case(normal(2, 4), axis=1, correction=1)])
def std(x, /, axis=None, dtype=None, ddof: Any = 0, keepdims=False, mean=None, correction=None):
    """Standard deviation over axes: the square root of `var`, with its parameters. Raises ShapeError.

    Where all elements are equal it is 0 and so is its derivative.
    """
    if dtype is None and is_half(x):
        return in_single(std, x, axis=axis, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction)
    return sqrt(var(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction))


@composite(samples=[case(distinct(2, 3)), *[case(distinct(2, 3, 2), axis=a, keepdims=a == 0) for a in (0, (0, -1))]])
def ptp(x, /, axis=None, keepdims=False):
    """Largest element less the smallest one over axes. Raises ShapeError if there is nothing to reduce."""
    return subtract(max(x, axis=axis, keepdims=keepdims), min(x, axis=axis, keepdims=keepdims))


# ---------------------------------------------------------------------- order statistics
_orders = [case(distinct(5)), case(distinct(4)), case(distinct(3, 4), axis=1),
           case(distinct(2, 3, 2), axis=(0, -1), keepdims=True)]  # fmt: skip


@composite(samples=[*_orders, case(integers(4, 2), axis=0)])
def median(x, /, axis=None, keepdims=False):
    """Middle element in order over axes, the mean of the two middle ones if their number is even; NaN if there is one.

    x: real array; integers give float64. The derivative goes to the middle elements. Raises ShapeError.
    """
    return order_statistics("median", x, 0.5, axis, middle, keepdims)


_quantiles = [
    case(distinct(5), 0.3), case(distinct(3, 4), lambda rng: np.array([0.1, 0.55, 0.9]), axis=1),
    case(distinct(2, 3, 2), lambda rng: rng.uniform(0.1, 0.9, (2, 2)), axis=(0, 2), keepdims=True), case(distinct(4), 1.0),
    case(distinct(6), 0.37, method="hazen"), case(distinct(5), 0.6, method="nearest"), case(integers(5), 0.3),
]  # fmt: skip


@composite(samples=_quantiles)
def quantile(x, q, /, axis=None, method="linear", keepdims=False):
    """Quantiles over axes: below them lies the fraction q of the elements. NaN if there is one.

    x: real array. q: number or array in [0, 1], whose axes are the first ones of the result.
    method: one of NumPy's, "linear" joins the elements in order by straight lines; others are "lower", "higher",
    "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "median_unbiased" and "normal_unbiased". The derivative goes to the elements that were taken, and to
    q where the method joins them. Raises ShapeError; DTypeError for another method.
    """
    return order_statistics("quantile", x, q, axis, places_of("quantile", method), keepdims)


_percent = lambda rng: rng.uniform(10, 90, 3)


def fraction(percent):
    """Of a Python number a Python number, which does not promote the result."""
    return percent / 100.0 if number_kind(percent) else divide(percent, 100.0)


@composite(samples=[case(distinct(5), 30.0), case(distinct(3, 4), _percent, axis=1), case(distinct(6), 37.0, method="lower")])
def percentile(x, q, /, axis=None, method="linear", keepdims=False):
    """`quantile` with q in percent: number or array in [0, 100]. Raises ShapeError, DTypeError."""
    return quantile(x, fraction(q), axis=axis, method=method, keepdims=keepdims)


# ---------------------------------------------------------------------- averages
_fixed = lambda *shape: np.random.default_rng(5).uniform(0.5, 1.5, shape).tolist()


@composite(
    samples=[
        case(normal(2, 3)), case(normal(2, 3), axis=1, weights=_fixed(3)), case(normal(2, 3), weights=_fixed(2, 3)),
        case(complex_normal(2, 3), axis=0, weights=_fixed(2), keepdims=True),
        case(integers(3), weights=_fixed(3), returned=True),
    ],
)  # fmt: skip
def average(x, /, axis=None, weights=None, returned=False, keepdims=False):
    """Weighted mean over axes.

    weights: array of x's shape, or of the lengths of the averaged axes alone; also followed. None: all equal. returned:
    give a tuple of the average and the sum of the weights. Raises ShapeError.
    """
    x = floating(x)
    if weights is None:
        y = mean(x, axis=axis, keepdims=keepdims)
        count = math.prod([shape_of(x)[a] for a in reduced_axes("average", x, axis)])
        return (y, multiply(ones_like(y), count)) if returned else y
    weights = _weights(x, array_like(weights, x), axis)
    if is_half(x) and is_half(weights):
        wide = [astype(v, dtype=np.float32) for v in (x, weights)]
        found = average(wide[0], axis=axis, weights=wide[1], returned=True, keepdims=keepdims)
        y, total = [astype(v, dtype=np.float16) for v in found]
        return (y, total) if returned else y
    total = sum(weights, axis=axis, keepdims=keepdims)
    y = divide(sum(multiply(x, weights), axis=axis, keepdims=keepdims), total)
    return (y, broadcast_to(astype(total, dtype=dtype_of(y)), shape=shape_of(y))) if returned else y


def _weights(x, weights, axis):
    """Weights that broadcast against x."""
    if shape_of(weights) == shape_of(x):
        return weights
    averaged = () if axis is None else tuple(normalize_axis("average", a, ndim_of(x)) for a in np.atleast_1d(axis))
    if axis is None or shape_of(weights) != tuple(shape_of(x)[a] for a in averaged):
        raise ShapeError(f"average: weights {describe(weights)} fit neither {describe(x)} nor its axes {axis}")
    order = tuple(int(i) for i in np.argsort(averaged))
    weights = transpose(weights, axes=order) if len(order) > 1 else weights
    return reshape(weights, shape=tuple(n if a in averaged else 1 for a, n in enumerate(shape_of(x))))


# ---------------------------------------------------------------------- covariance
@composite(
    samples=[
        case(normal(3, 5)), case(normal(4, 2), rowvar=False), case(normal(5), ddof=0), case(complex_normal(2, 4)),
        case(normal(2, 4), y=_fixed(4)), case(normal(2, 4), aweights=_fixed(4)), case(normal(2, 4), bias=True),
        case(normal(2, 3), fweights=(1, 3, 2)),
    ],
)  # fmt: skip
def cov(x, /, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """Covariances of variables.

    x: array, a matrix whose rows are the variables and whose columns are observations (the other way round if not rowvar),
    or the vector of one variable. y: more variables, also followed. bias: divide by the number of observations N, not N - 1;
    ddof: by N - ddof. fweights, aweights: how often each observation is counted, and its weight. Returns a matrix, a
    number for one variable. Raises ShapeError.
    """
    rows = [_variables(array_like(v, x), rowvar) for v in (x, y) if v is not None]
    if len({shape_of(row)[1] for row in rows}) != 1:
        raise ShapeError(f"cov: {describe(x)} and {describe(y)} have different numbers of observations")
    x = concatenate(rows, axis=0) if len(rows) > 1 else rows[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = None if fweights is None else array_like(fweights, x)
    if aweights is not None:
        a = array_like(aweights, x)
        weights = a if weights is None else multiply(weights, a)
    if weights is None:
        total = freedom = shape_of(x)[1]
        center = mean(x, axis=1, keepdims=True)
    else:
        total = sum(weights)
        center = expand_dims(divide(sum(multiply(x, weights), axis=1), total), 1)
        freedom = total
    if weights is not None and aweights is not None and ddof:
        ddof = multiply(ddof, divide(sum(multiply(weights, a)), total))
    x = subtract(x, center)
    scaled = x if weights is None else multiply(x, weights)
    c = divide(matmul(x, conj(matrix_transpose(scaled))), maximum(subtract(freedom, ddof), 0))
    return reshape(c, shape=()) if shape_of(c) == (1, 1) else c


def _variables(x, rowvar):
    """Variables as rows, in double precision."""
    if ndim_of(x) > 2:
        raise ShapeError(f"cov: {describe(x)} has more than two axes")
    x = astype(x, dtype=np.result_type(dtype_of(x), np.float64))
    if ndim_of(x) < 2:
        return reshape(x, shape=(1, -1))
    return x if rowvar or shape_of(x)[0] == 1 else matrix_transpose(x)


@composite(
    samples=[
        case(normal(3, 5)), case(normal(4, 3), rowvar=False), case(complex_normal(2, 4)), case(normal(2, 4), y=_fixed(4)),
    ],
)  # fmt: skip
def corrcoef(x, /, y=None, rowvar=True):
    """Correlations of variables: `cov` over the product of their standard deviations. Parameters as for it.

    Returns an array, a matrix with ones on the diagonal, or a number for one variable. Raises ShapeError.
    """
    c = cov(x, y=y, rowvar=rowvar)
    if not ndim_of(c):
        return divide(c, c)
    spread = sqrt(real(diagonal(c)))
    c = divide(divide(c, expand_dims(spread, 1)), expand_dims(spread, 0))
    if is_complex(c):
        return add(clip(real(c), -1, 1), multiply(1j, clip(imag(c), -1, 1)))
    return clip(c, -1, 1)
