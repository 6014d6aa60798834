"""Reductions of what is a number, others left out: nansum and its kin. Integers have no others."""

from typing import Any

import numpy as np

from ..avals import dtype_of
from ..card import composite
from ..samples import case, integers
from .arithmetic import divide, subtract
from .compare import isnan, logical_not, where
from .complex import astype
from .exponential import sqrt
from .order_statistics import floating, middle, order_statistics, places_of
from .reduce import all, in_single, is_half, max, mean, min, prod, sum
from .statistics import fraction, over_freedom, squared_size


def _gappy(*shape):
    """Sample arrays with places that are not numbers, at least one number in each row and column."""

    def draw(rng):
        x = (rng.permutation(int(np.prod(shape))) * 0.7 - 1.3).reshape(shape)
        return np.where(np.arange(x.size).reshape(shape) % 4 == 1, np.nan, x)

    return draw


_axes = [case(_gappy(6)), case(_gappy(3, 3), axis=0), case(_gappy(2, 3, 2), axis=(0, -1), keepdims=True), case(integers(3))]


def _has_nan(x):
    return dtype_of(x).kind in "fc"


def _numbers_or(x, otherwise):
    """x with a constant where it is not a number."""
    return where(isnan(x), otherwise, x) if _has_nan(x) else x


def _count_numbers(x, axis, keepdims, dtype):
    """Count the elements that are numbers."""
    return sum(astype(logical_not(isnan(x)), dtype=dtype), axis=axis, keepdims=keepdims)


@composite(samples=_axes)
def nansum(x, /, axis=None, dtype=None, keepdims=False):
    """Sum over axes of what is a number. Parameters as for `sum`. Raises ShapeError."""
    return sum(_numbers_or(x, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)


@composite(samples=_axes)
def nanprod(x, /, axis=None, keepdims=False):
    """Product over axes of what is a number. Raises ShapeError."""
    return prod(_numbers_or(x, 1.0), axis=axis, keepdims=keepdims)


@composite(samples=_axes)
def nanmean(x, /, axis=None, dtype=None, keepdims=False):
    """Mean over axes of what is a number, NaN where nothing is. Raises ShapeError."""
    if not _has_nan(x):
        return mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    if dtype is None and is_half(x):
        return in_single(nanmean, x, axis=axis, keepdims=keepdims)
    total = nansum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return divide(total, _count_numbers(x, axis, keepdims, dtype_of(total)))


@composite(samples=_axes)
def nanmax(x, /, axis=None, keepdims=False):
    """Largest number over axes, NaN where nothing is a number. Raises ShapeError."""
    return _nan_extremum(max, -np.inf, x, axis, keepdims)


@composite(samples=_axes)
def nanmin(x, /, axis=None, keepdims=False):
    """Smallest number over axes, NaN where nothing is a number. Raises ShapeError."""
    return _nan_extremum(min, np.inf, x, axis, keepdims)


def _nan_extremum(reduce, otherwise, x, axis, keepdims):
    if not _has_nan(x):
        return reduce(x, axis=axis, keepdims=keepdims)
    y = reduce(_numbers_or(x, otherwise), axis=axis, keepdims=keepdims)
    return where(all(isnan(x), axis=axis, keepdims=keepdims), np.nan, y)


_spread = [*_axes[:3], case(_gappy(6), ddof=1), case(integers(4))]


@composite(samples=_spread)
def nanvar(x, /, axis=None, dtype=None, ddof: Any = 0, keepdims=False, mean=None, correction=None):
    """Variance over axes of what is a number. Parameters as for `var`. Raises ShapeError."""
    if dtype is None and is_half(x):
        return in_single(nanvar, x, axis=axis, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction)
    x = floating(x) if dtype is None else astype(x, dtype=dtype)
    center = nanmean(x, axis=axis, keepdims=True) if mean is None else mean
    gap = isnan(x)
    away = where(gap, 0.0, subtract(where(gap, 0.0, x), where(gap, 0.0, center)))
    total = sum(squared_size(away), axis=axis, keepdims=keepdims)
    y = over_freedom("nanvar", total, _count_numbers(x, axis, keepdims, dtype_of(total)), ddof, correction)
    return y


@composite(samples=_spread)
def nanstd(x, /, axis=None, dtype=None, ddof: Any = 0, keepdims=False, mean=None, correction=None):
    """Standard deviation over axes of what is a number, with slope 0 where all are equal. Raises ShapeError."""
    if dtype is None and is_half(x):
        return in_single(nanstd, x, axis=axis, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction)
    return sqrt(nanvar(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction))


@composite(samples=_axes)
def nanmedian(x, /, axis=None, keepdims=False):
    """Median over axes of what is a number, NaN where nothing is. Raises ShapeError."""
    return order_statistics("nanmedian", x, 0.5, axis, middle, keepdims, ignore_nan=True)


_q = lambda rng: np.array([0.15, 0.6])


@composite(samples=[case(_gappy(6), 0.3), case(_gappy(3, 3), _q, axis=0), case(_gappy(3, 4), 0.7, axis=1, method="hazen")])
def nanquantile(x, q, /, axis=None, method="linear", keepdims=False):
    """Quantiles over axes of what is a number, NaN where nothing is. Parameters as for `quantile`. Raises ShapeError."""
    return order_statistics("nanquantile", x, q, axis, places_of("nanquantile", method), keepdims, ignore_nan=True)


@composite(samples=[case(_gappy(6), 30.0), case(_gappy(3, 3), lambda rng: np.array([15.0, 60.0]), axis=0)])
def nanpercentile(x, q, /, axis=None, method="linear", keepdims=False):
    """`nanquantile` with q in percent: a number or array in [0, 100]. Raises ShapeError."""
    return nanquantile(x, fraction(q), axis=axis, method=method, keepdims=keepdims)
