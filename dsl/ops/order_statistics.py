"""How quantiles are found: elements in order along one axis, taken at places between which a method may interpolate.

A method is a function (n, q) -> (place, None, None) of one element, or (place, next place, share of the way between), with
share None for the mean of both; n is the number of elements, or an array of such numbers.
"""

import math
from typing import Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe, isa
from ..array_libraries import asarray_like
from ..avals import dtype_of, is_number, number_kind, reduced_axes, shape_of
from .arithmetic import add, ceil, divide, floor, maximum, minimum, multiply, remainder, rint, subtract
from .compare import equal, greater_equal, isnan, logical_and, logical_not, where
from .complex import astype
from .create import full_like
from .indexing import getitem, take
from .reduce import sum
from .shape import moveaxis, reshape
from .sorting import sort, take_along_axis


def floating(x, dtype=np.float64):
    """x, integers and booleans in a floating dtype."""
    return astype(x, dtype=dtype) if dtype_of(x).kind in "iub" else x


def _less_one(n):
    """n - 1; of a Python number a Python number, which promotes nothing."""
    return n - 1 if is_number(n) else subtract(n, 1)


# ---------------------------------------------------------------------- places
def _continuous(alpha, beta):
    """Straight lines between the elements (Hyndman and Fan, 1996): place n q + m with m = alpha + q (1 - alpha - beta)."""

    def place(n, q):
        v = subtract(add(multiply(n, q), add(alpha, multiply(q, 1 - alpha - beta))), 1)
        low = floor(v)
        return low, add(low, 1), subtract(v, low)

    return place


def _linear_position(n, q):
    if dtype_of(q).kind in "iub":  # the first element and the last one
        return multiply(_less_one(n), astype(q, dtype=np.int64)), None, None
    v = multiply(_less_one(n), q)
    low = floor(v)
    return low, add(low, 1), subtract(v, low)


def _midpoint(n, q):
    v = multiply(_less_one(n), q)
    return floor(v), ceil(v), full_like(q, 0.5)


def middle(n, q):
    """The places of the two middle elements, of which the mean is taken; both the same if n is odd."""
    v = multiply(_less_one(n), q)  # q is ½
    return floor(v), ceil(v), None


def _one(place):
    return lambda n, q: (place(n, q), None, None)


def _inverted(n, q):
    return subtract(ceil(multiply(n, q)), 1)


def _averaged(n, q):
    v = multiply(n, q)
    return subtract(ceil(v), 1), floor(v), full_like(q, 0.5)


def _closest(n, q):
    v = subtract(multiply(n, q), 1.5)  # of two equally near ones the one of even number, counted from 1
    low = floor(v)
    tie = equal(v, low)
    odd = equal(remainder(low, 2), 1)
    return where(logical_and(tie, odd), low, add(low, 1))


QUANTILE_METHODS = {
    "linear": _linear_position,
    "lower": _one(lambda n, q: floor(multiply(_less_one(n), q))),
    "higher": _one(lambda n, q: ceil(multiply(_less_one(n), q))),
    "midpoint": _midpoint,
    "nearest": _one(lambda n, q: rint(multiply(_less_one(n), q))),
    "inverted_cdf": _one(_inverted),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _one(_closest),
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
}


def places_of(name, method):
    """The function of a method. Raises DTypeError for one that is unknown."""
    if method not in QUANTILE_METHODS:
        raise DTypeError(f"{name}: method {method!r} is not one of {', '.join(QUANTILE_METHODS)}")
    return QUANTILE_METHODS[method]


# ---------------------------------------------------------------------- elements
def lines(name, x, axis):
    """x with the reduced axes as axis 0, in one. Raises ShapeError."""
    reduced = reduced_axes(name, x, axis)
    rest = tuple(n for a, n in enumerate(shape_of(x)) if a not in reduced)
    front = moveaxis(x, reduced, tuple(range(len(reduced))))
    return reshape(front, shape=(math.prod([shape_of(x)[a] for a in reduced]), *rest))


def order_statistics(name, x, q, axis, places, keepdims, ignore_nan=False):
    """Quantiles q of x over axes. places: a function as in METHODS. ignore_nan: of what is a number, else NaN if
    something is none."""
    if dtype_of(x).kind == "c":
        raise ShapeError(f"{name}: {describe(x)} is complex, and complex numbers have no order; use its real part")
    ordered = sort(lines(name, x, axis), axis=0)
    n = shape_of(ordered)[0]
    if not n:
        raise ShapeError(f"{name}: {describe(x)} has no elements over axis {axis}")
    rest = shape_of(ordered)[1:]
    _check_fraction(name, q)
    weak, lead = number_kind(q), shape_of(q)  # a Python number does not promote the result
    q = reshape(asarray_like(q, x) if is_number(q) else q, shape=(-1, *(1,) * len(rest)))
    nans = dtype_of(x).kind == "f"
    count = n
    if ignore_nan and nans:  # in q's dtype, which places have, too
        there = sum(logical_not(isnan(ordered)), axis=0, keepdims=True)
        count = astype(maximum(there, 1), dtype=dtype_of(q) if dtype_of(q).kind == "f" else np.float64)
    low, high, share = places(count, q)
    y = _element(ordered, low, count)
    if high is not None:
        dtype: Any = np.float64 if share is None else np.result_type(dtype_of(y), dtype_of(share))  # of whole numbers
        y, above = floating(y, dtype), floating(_element(ordered, high, count), dtype)
        y = divide(add(y, above), 2) if share is None else _between(y, above, share)
    if nans:
        if not ignore_nan:
            last = getitem(ordered, slice(-1, None))  # what is not a number comes last
            y = where(isnan(last), last, y)
        y = astype(y, dtype=dtype_of(x)) if weak else y
    if keepdims:
        reduced = reduced_axes(name, x, axis)
        rest = tuple(1 if a in reduced else k for a, k in enumerate(shape_of(x)))
    return reshape(y, shape=(*lead, *rest))


def _check_fraction(name, q):
    if isa(q, (float, int, np.ndarray, np.generic)) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ShapeError(f"{name}: quantiles lie between 0 and 1, percentiles between 0 and 100")


def _element(ordered, place, count):
    """The elements at a place of each line, or at one place of all of them."""
    place = astype(minimum(maximum(place, 0), _less_one(count)), dtype=np.intp)
    if is_number(count):
        return take(ordered, reshape(place, shape=(-1,)), axis=0)
    return take_along_axis(ordered, place, axis=0)


def _between(low, high, share):
    """The point that divides the way from low to high; from the nearer end, so that both ends are exact."""
    way = subtract(high, low)
    near, far = add(low, multiply(way, share)), subtract(high, multiply(way, subtract(1, share)))
    return where(greater_equal(share, 0.5), far, near)
