"""Functions of rows: logarithms of sums of exponentials, softmax, standardization. Stable, and free of NaN at -inf."""

import math
from typing import Any

import numpy as np

from ..avals import broadcast_shapes, dtype_of, reduced_axes, shape_of
from ..card import composite
from ..samples import case, normal
from .arithmetic import add, divide, minimum, multiply, reciprocal, square, subtract
from .compare import equal, greater, less, logical_and, where
from .complex import astype, stop_gradient, with_slopes_of
from .create import full_like
from .exponential import exp, log, sqrt
from .reduce import in_single, is_half, kept_shape, max, mean, sum
from .shape import broadcast_to, reshape

rows = [case(normal(2, 3)), case(normal(2, 3), axis=0), case(normal(3))]


def _reduced_rows(reduce, x, axis):
    """A reduction over axes, kept with length 1. Where there is nothing to reduce it is 0.0: no element is there to read it."""
    if 0 in [shape_of(x)[a] for a in reduced_axes(reduce.__name__, x, axis)]:
        return multiply(full_like(x, 0, shape=kept_shape(reduce.__name__, x, axis)), 1.0)
    return reduce(x, axis=axis, keepdims=True)


def _below_largest(x, axis, b=None):
    """(x less the largest element over axes, what was subtracted, whether that element is +inf), all but x constants.

    Several +inf count as equal numbers. b: weights; elements of weight 0 are not the largest, and -inf where they are larger.
    """
    fixed = stop_gradient(x)
    top = _reduced_rows(max, fixed if b is None else where(equal(b, 0), -math.inf, fixed), axis)
    if b is not None:
        fixed = where(logical_and(equal(b, 0), greater(fixed, top)), -math.inf, fixed)
    most = float(np.finfo(dtype_of(top)).max) if dtype_of(top).kind == "f" else math.inf
    m = where(equal(top, -math.inf), 0.0, minimum(top, most))
    return with_slopes_of(minimum(subtract(fixed, m), 0.0), x), m, equal(top, math.inf)


def _nonzero(s):
    """s with 1 in place of 0, and where that is."""
    empty = equal(s, 0)
    return where(empty, 1.0, s), empty


@composite(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 3)), case(normal(2, 3), axis=1, keepdims=True), case(normal(2, 3, 2), axis=(0, -1)), case(normal()),
    ],
)  # fmt: skip
def logsumexp(x, /, axis=None, b=None, keepdims=False):
    """log(sum(b * exp(x))) over axes, without overflow.

    x: real array; its elements may be infinite. axis: None for all, an int, or a tuple. b: weights that broadcast against x
    (1 unless given); elements of weight 0 do not count, and where the sum is negative the result is NaN. keepdims: keep
    the reduced axes with length 1. Without elements, or where all are -inf, the result is -inf with slopes 0;
    where some are +inf they share the slope (by weight), as the largest ones of `max` do. Raises ShapeError, DTypeError.

    >>> import numpy as np, polyad as pa
    >>> round(float(pa.logsumexp(np.array([1000.0, 1000.0]))), 6)
    1000.693147
    """
    if is_half(x) and (b is None or is_half(b)):
        wide = None if b is None else astype(b, dtype=np.float32)
        return in_single(logsumexp, x, axis=axis, b=wide, keepdims=keepdims)
    if b is not None:
        x = broadcast_to(x, shape=broadcast_shapes("logsumexp", (x, b)))
    axes = reduced_axes("logsumexp", x, axis)
    kept = kept_shape("logsumexp", x, axis)
    d, m, endless = _below_largest(x, axis, b)
    terms = exp(d) if b is None else multiply(b, exp(d))
    s, empty = _nonzero(sum(terms, axis=axis, keepdims=True))
    y = where(empty, -math.inf, add(log(s), m))
    y = with_slopes_of(where(endless, math.inf, y), y)
    return y if keepdims else reshape(y, shape=tuple(n for i, n in enumerate(kept) if i not in axes))


@composite(kernel=None, numpy=(), samples=[*rows, case(normal(2, 3), axis=None), case(normal(2, 3, 2), axis=(0, -1))])
def softmax(x, /, axis: Any = -1):
    """exp(x) / sum(exp(x)) over axes, without overflow: non-negative numbers that add up to 1.

    x: real array. axis: int, tuple, or None for all. Elements of -inf get 0, in a row of nothing else too, with slopes 0;
    elements of +inf share the 1. Of no elements there are none. Raises ShapeError, DTypeError.

    >>> import numpy as np, polyad as pa
    >>> pa.softmax(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    if is_half(x):
        return in_single(softmax, x, axis=axis)
    e = exp(_below_largest(x, axis)[0])
    return multiply(e, reciprocal(_nonzero(sum(e, axis=axis, keepdims=True))[0]))  # one division for all of a row


@composite(kernel=None, numpy=(), samples=[*rows, case(normal(2, 3), axis=None), case(normal(2, 3, 2), axis=(0, -1))])
def log_softmax(x, /, axis: Any = -1):
    """Logarithm of `softmax`, precise where that is tiny. x: real array. axis: int, tuple, or None for all.

    Elements of -inf stay -inf, in a row of nothing else too; beside +inf all finite ones are. Raises ShapeError, DTypeError.
    """
    if is_half(x):
        return in_single(log_softmax, x, axis=axis)
    d, _, endless = _below_largest(x, axis)
    d = with_slopes_of(where(less(d, where(endless, 0.0, -math.inf)), -math.inf, d), d)
    return subtract(d, log(_nonzero(sum(exp(d), axis=axis, keepdims=True))[0]))


@composite(kernel=None, numpy=(), samples=[*rows, case(normal(2, 3), axis=None), case(normal(4), eps=0.1)])
def standardize(x, /, axis: Any = -1, eps: Any = 1e-5):
    """x minus its mean over axes, over its standard deviation there: (x - mean) / sqrt(variance + eps).

    x: real array. axis: int, tuple, or None for all. eps: added to the variance, against division by zero. Raises
    ShapeError, DTypeError.
    """
    if is_half(x):
        return in_single(standardize, x, axis=axis, eps=eps)
    centred = subtract(x, _reduced_rows(mean, x, axis))
    return divide(centred, sqrt(add(_reduced_rows(mean, square(centred), axis), eps)))
