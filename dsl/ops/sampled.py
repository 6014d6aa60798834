"""Functions known by samples: slopes, integrals, interpolation."""

from typing import Any

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import dtype_of, ndim_of, normalize_axis, reduced_axes, shape_of
from ..card import composite
from ..samples import case, complex_normal, integers, normal, positives
from .arithmetic import add, divide, maximum, minimum, multiply, negative, over_or_zero, remainder, subtract
from .compare import equal, greater, greater_equal, isnan, less, less_equal, logical_and, where
from .complex import abs, astype, stop_gradient
from .cumulative import diff
from .indexing import getitem, take
from .rearrange import along, array_like
from .reduce import sum
from .search import searchsorted
from .shape import concatenate, reshape
from .sorting import argsort


def _increasing(*shape):
    """Sample vectors that grow."""
    return lambda rng: np.cumsum(rng.uniform(0.5, 1.5, shape))


# ---------------------------------------------------------------------- slopes
@composite(
    samples=[
        case(normal(4)), case(normal(5), 0.5), case(normal(5), _increasing(5)), case(normal(3, 4), axis=1),
        case(normal(5), _increasing(5), edge_order=2), case(normal(3, 4), edge_order=2), case(integers(4)),
        case(normal(4, 3), _increasing(4), 2.0), case(complex_normal(4)), case(normal(3, 4), 2.0),
    ],
)  # fmt: skip
def gradient(x, /, *spacing, axis=None, edge_order=1):
    """Slopes of a sampled function by second-order differences inside and one-sided ones at the ends.

    x: array of samples. spacing: nothing (1), one number for all axes, or for each axis a number or the vector of
    places; slopes can be followed by them too. axis: an int or several, None for all. edge_order: 1 or 2, of the
    one-sided differences. Returns an array of x's shape, or a tuple of one per axis. Raises ShapeError.
    """
    axes = reduced_axes("gradient", x, None) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalize_axis("gradient", a, ndim_of(x)) for a in axes)
    reduced_axes("gradient", x, axes)  # names no axis twice
    steps = spacing * len(axes) if len(spacing) == 1 and not ndim_of(spacing[0]) else spacing or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise ShapeError(f"gradient: {len(spacing)} spacings for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient: edge_order must be 1 or 2, not {edge_order!r}")
    if dtype_of(x).kind in "iub":
        x = astype(x, dtype=np.float64)
    slopes = tuple(_slope(x, h, a, edge_order) for a, h in zip(axes, steps, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(x, h, axis, order):
    n = shape_of(x)[axis]
    if n < order + 1:
        raise ShapeError(f"gradient: axis {axis} of {describe(x)} has fewer than {order + 1} samples")
    part = lambda start, stop: getitem(x, along(axis, slice(start, stop)))
    if ndim_of(h):
        if shape_of(h) != (n,):
            raise ShapeError(f"gradient: spacing {describe(h)} for axis {axis} of {describe(x)}; give a number or {n} places")
        h = diff(h if dtype_of(h).kind in "fc" else astype(h, dtype=np.float64))
        h = reshape(h, shape=(-1, *(1,) * (ndim_of(x) - axis - 1)))
        a, b = getitem(h, slice(None, -1)), getitem(h, slice(1, None))  # before and after
        both = add(a, b)
        weights = divide(negative(b), multiply(a, both)), divide(subtract(b, a), multiply(a, b)), divide(a, multiply(b, both))
        inner = _weighted(weights, (part(None, -2), part(1, -1), part(2, None)))
    else:
        inner = divide(subtract(part(2, None), part(None, -2)), 2.0 * h)
    return concatenate([_end_slope(x, h, axis, order, False), inner, _end_slope(x, h, axis, order, True)], axis=axis)


def _end_slope(x, h, axis, order, last):
    """The one-sided slope at the first or last sample."""
    place = lambda k: slice(-1 - k, -k or None) if last else slice(k, k + 1)
    at = lambda k: getitem(x, along(axis, place(k)))
    step = lambda k: getitem(h, place(k)) if ndim_of(h) else h
    sign = -1.0 if last else 1.0
    if order == 1:
        return divide(multiply(sign, subtract(at(1), at(0))), step(0))
    if not ndim_of(h):
        return divide(multiply(sign, _weighted((-1.5, 2.0, -0.5), (at(0), at(1), at(2)))), h)
    a, b = step(0), step(1)
    both = add(a, b)
    first, third = divide(negative(add(both, a)), multiply(a, both)), divide(negative(a), multiply(b, both))
    return multiply(sign, _weighted((first, divide(both, multiply(a, b)), third), (at(0), at(1), at(2))))


def _weighted(weights, xs):
    """Sum of three arrays times their weights."""
    first, second, third = (multiply(w, x) for w, x in zip(weights, xs, strict=True))
    return add(add(first, second), third)


# ---------------------------------------------------------------------- integrals
@composite(
    samples=[
        case(normal(4)), case(normal(2, 3), dx=0.5, axis=0), case(complex_normal(3)), case(integers(3)),
        case(normal(2, 3), x=(0.0, 1.0, 3.0)),
    ],
)  # fmt: skip
def trapezoid(y, /, x=None, dx: Any = 1.0, axis=-1):
    """Integral of samples along an axis by the trapezoidal rule.

    y: array of samples. x: places of the samples, a vector along the axis or an array of y's shape; else dx is the
    distance of neighbours. Raises ShapeError.
    """
    axis = normalize_axis("trapezoid", axis, ndim_of(y))
    if x is not None:
        x = array_like(x, y)
        dx = reshape(diff(x), shape=(-1, *(1,) * (ndim_of(y) - axis - 1))) if ndim_of(x) == 1 else diff(x, axis=axis)
    both = add(getitem(y, along(axis, slice(1, None))), getitem(y, along(axis, slice(None, -1))))
    return sum(divide(multiply(dx, both), 2.0), axis=axis)


# ---------------------------------------------------------------------- interpolation
_inside = lambda rng: rng.uniform(-0.5, 4.0, 5)


@composite(
    samples=[
        case(_inside, _increasing(4), normal(4)), case(positives(2, 2), _increasing(3), complex_normal(3)),
        case(_inside, _increasing(4), normal(4), left=-1.0, right=2.0), case(normal(), _increasing(2), positives(2)),
        case(_inside, lambda rng: np.array([0.3, 2.1, 1.2]), normal(3), period=2.5),
    ],
)  # fmt: skip
def interp(x, xp, fp, /, left=None, right=None, period=None):
    """Piecewise linear interpolation at x of the points (xp, fp).

    x: array of places. xp: increasing vector; fp: values there, real or complex, of the same length. left, right: values
    beyond the ends, fp's first and last unless given. period: places are taken modulo it, xp need not be sorted then.
    It has derivatives by x, xp and fp; at a point those of the piece to its right. Raises ShapeError.
    """
    if ndim_of(xp) != 1 or shape_of(xp) != shape_of(fp) or not shape_of(xp)[0]:
        raise ShapeError(f"interp: xp is {describe(xp)} and fp {describe(fp)}; both are vectors of one length, at least 1")
    if period is not None:
        x, xp, fp, left, right = _periodic(x, xp, fp, period)
    n = shape_of(xp)[0]
    x, xp, fp = (v if dtype_of(v) in (np.float64, np.complex128) else _doubled(v) for v in (x, xp, fp))
    first, last = getitem(xp, 0), getitem(xp, -1)
    inside = logical_and(greater_equal(x, first), less_equal(x, last))
    j = subtract(searchsorted(xp, stop_gradient(x), side="right"), 1)
    j = minimum(maximum(j, 0), max(n - 2, 0))
    k = minimum(add(j, 1), n - 1)
    x0, x1, f0, f1 = take(xp, j, axis=0), take(xp, k, axis=0), take(fp, j, axis=0), take(fp, k, axis=0)
    at = where(inside, x, x0)  # no distance outside, where no piece is meant and x may be infinite
    slope = over_or_zero(subtract(f1, f0), subtract(x1, x0))
    end = equal(at, x1)  # from this end of the piece, so that the value there is exact
    y = add(multiply(slope, subtract(at, where(end, x1, x0))), where(end, f1, f0))
    y = where(less(x, first), getitem(fp, 0) if left is None else left, y)
    y = where(greater(x, last), getitem(fp, -1) if right is None else right, y)
    return where(isnan(x), np.nan, y)


def _doubled(x):
    return astype(x, dtype=np.complex128 if dtype_of(x).kind == "c" else np.float64)


def _periodic(x, xp, fp, period):
    """The points of one period in order, with a neighbour from the next at each end."""
    period = period if ndim_of(period) else abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order, axis=0), take(fp, order, axis=0)
    head, tail = slice(None, 1), slice(-1, None)
    xp = concatenate([subtract(getitem(xp, tail), period), xp, add(getitem(xp, head), period)], axis=0)
    return x, xp, concatenate([getitem(fp, tail), fp, getitem(fp, head)], axis=0), None, None
