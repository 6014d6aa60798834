"""Places: of extrema, in sorted vectors, of what is not zero. Places are integers and have no derivative.

How many elements are not zero depends on the values, so the shape of `nonzero` and its kin does too: lanes of `vmap` are
split by it, and a trace needs `size=`, the number of places to return whatever the values are.
"""

import math
from typing import Any

import numpy as np

from ...dispatch import ConcreteValueError, ShapeError, describe
from ...dispatch.layers import noted
from ..array_libraries import asarray_like, host_copy
from ..avals import Aval, dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite, opaque
from ..samples import booleans, case, distinct, integers, normal
from .arithmetic import floor_divide, remainder, subtract
from .compare import greater_equal, isnan, less, less_equal, logical_not, not_equal, where
from .complex import astype
from .create import arange_like, zeros_like
from .cumulative import cumsum
from .indexing import getitem, take
from .rearrange import array_like, flip
from .reduce import sum
from .shape import broadcast_to, concatenate, ravel, reshape, stack
from .sorting import argsort, take_along_axis

PLACE = np.dtype(np.intp)


# ---------------------------------------------------------------------- extrema
def _place_card(prototype):
    """argmax and argmin: one axis or all."""
    samples = [case(distinct(2, 3)), case(distinct(2, 3), axis=0), case(distinct(2, 3), axis=-1, keepdims=True),
               case(distinct(2, 3), keepdims=True), case(integers(3, 4, high=2), axis=1)]  # fmt: skip
    function = opaque(differentiable=False, samples=samples)(prototype)
    name = prototype.__name__

    def shape(x, axis=None, keepdims=False):
        axes = range(x.ndim) if axis is None else (normalize_axis(name, axis, x.ndim),)
        kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
        return Aval(kept, PLACE)

    def batch(size, xs, batched, axis=None, keepdims=False):
        (x,) = xs
        lane = shape_of(x)[1:]
        if axis is not None:
            return function(x, axis=normalize_axis(name, axis, len(lane)) + 1, keepdims=keepdims)
        flat = function(reshape(x, shape=(size, math.prod(lane))), axis=1)
        return reshape(flat, shape=(size, *(1,) * len(lane))) if keepdims else flat

    function.rule("shape")(shape)
    function.rule("batch")(batch)
    return function


@_place_card
def argmax(x, /, axis=None, keepdims=False):
    """Place of the largest element along an axis (None: in x flattened), an integer; the first of equal ones.

    Not a number counts as largest. Raises ShapeError if there is nothing to search.
    """


@_place_card
def argmin(x, /, axis=None, keepdims=False):
    """Place of the smallest element along an axis (None: in x flattened), an integer; the first of equal ones.

    Not a number counts as smallest. Raises ShapeError if there is nothing to search.
    """


def _gappy(rng):
    return np.where(rng.integers(0, 3, (3, 4)) == 0, np.nan, rng.permutation(12).reshape(3, 4))


_nan_samples = [case(_gappy), case(distinct(2, 3), axis=0), case(distinct(2, 3), axis=1, keepdims=True)]


@composite(differentiable=False, samples=_nan_samples)
def nanargmax(x, /, axis=None, keepdims=False):
    """`argmax` along an axis of what is a number; 0 where nothing is. Raises ShapeError if there is nothing to search."""
    return argmax(_numbers_only(x, -np.inf), axis=axis, keepdims=keepdims)


@composite(differentiable=False, samples=_nan_samples)
def nanargmin(x, /, axis=None, keepdims=False):
    """`argmin` along an axis of what is a number; 0 where nothing is. Raises ShapeError if there is nothing to search."""
    return argmin(_numbers_only(x, np.inf), axis=axis, keepdims=keepdims)


def _numbers_only(x, otherwise):
    return where(isnan(x), otherwise, x) if dtype_of(x).kind in "fc" else x


# ---------------------------------------------------------------------- sorted vectors
_sorted = lambda rng: np.array([1.0, 2.0, 2.0, 4.0])


@composite(
    differentiable=False,
    samples=[
        case(_sorted, normal(4)), case(lambda rng: np.arange(5.0), normal(2, 2), side="right"), case(_sorted, 2.0),
        case(_sorted, integers(3, high=5)), case(lambda rng: np.array([1.0, np.nan]), lambda rng: np.array([0.0, np.nan, 2.0])),
        case(lambda rng: np.array([3.0, 1.0, 2.0]), normal(2), sorter=(1, 2, 0)),
    ],
)  # fmt: skip
def searchsorted(a, v, /, side="left", sorter=None):
    """Places at which v would be inserted into the ascending vector a to keep it in order.

    a: vector. v: array or number. side: "left" before equal elements, "right" behind them. sorter: places that sort a,
    if it is not sorted itself. Raises ShapeError if a has not one axis.
    """
    if ndim_of(a) != 1:
        raise ShapeError(f"searchsorted: {describe(a)} has not one axis; ravel it, or map over its rows with polyad.vmap")
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    a = a if sorter is None else take(a, array_like(sorter, a), axis=0)
    return insertion_places(a, v, side=side)


@opaque(differentiable=False, kernel=None, numpy=(), samples=[case(_sorted, normal(2, 2), side="left")])
def insertion_places(a, v, /, side):
    """The places of `searchsorted`: of an array v in the sorted vector a. Raises ShapeError."""


insertion_places.rule("shape")(lambda a, v, side: Aval(shape_of(v), PLACE))


@insertion_places.rule("batch")
def insertion_places_batch(size, xs, batched, side):
    """Each lane sorts its values among those of a: the place of a value is the number of elements of a before it."""
    a, v = xs
    if not batched[0]:
        return insertion_places(a, v, side=side)
    shape = shape_of(v)[1:] if batched[1] else shape_of(v)
    n, m = shape_of(a)[1], math.prod(shape)
    v = reshape(v if batched[1] else broadcast_to(asarray_like(v, a), shape=(size, *shape)), shape=(size, m))
    first = 0 if side == "left" else n  # where v begins; of equal elements the sort keeps the first one first
    order = argsort(concatenate([v, a] if side == "left" else [a, v], axis=1), axis=1)
    inside = greater_equal(order, m) if side == "left" else less(order, n)
    before = cumsum(astype(inside, dtype=PLACE), axis=1)
    places = take_along_axis(before, getitem(argsort(order, axis=1), (slice(None), slice(first, first + m))), axis=1)
    return reshape(places, shape=(size, *shape))


@composite(
    differentiable=False,
    samples=[
        case(normal(4), _sorted), case(integers(2, 3), lambda rng: np.array([7, 4, 1])), case(_sorted, _sorted, right=True),
    ],
)  # fmt: skip
def digitize(x, bins, /, right=False):
    """Number of the interval between bin edges in which each element lies: 0 below the first edge, len(bins) above the last.

    bins: vector of edges, ascending or descending. right: intervals contain their right edge, not their left one.
    Raises ShapeError if bins has not one axis.
    """
    if ndim_of(bins) != 1:
        raise ShapeError(f"digitize: bins is {describe(bins)}, not a vector of edges")
    n, side = shape_of(bins)[0], "left" if right else "right"
    up = searchsorted(bins, x, side=side)
    if n < 2:
        return up
    down = subtract(n, searchsorted(flip(bins), x, side=side))
    return where(less_equal(getitem(bins, 0), getitem(bins, -1)), up, down)


# ---------------------------------------------------------------------- not zero
@composite(differentiable=False, samples=[case(booleans(2, 3)), case(integers(2, 3, high=2), axis=1, keepdims=True)])
def count_nonzero(x, /, axis=None, keepdims=False):
    """Number of elements over axes that are not zero (not false). Raises ShapeError."""
    return sum(not_equal(x, 0), axis=axis, dtype=PLACE, keepdims=keepdims)


def mask_places(name, mask, size, fill_value, advice="size=, the number of places to return"):
    """Places of what is true in a boolean vector: all of them, or `size`, filled up by `fill_value`."""
    if size is None:
        try:
            return asarray_like(np.flatnonzero(host_copy(mask)), mask)
        except ConcreteValueError as error:
            text = f"{name}: how many places there are depends on the values, which a trace does not have; give {advice}"
            raise noted(mask, ConcreteValueError(text)) from error
    n = shape_of(mask)[0]
    places = getitem(argsort(logical_not(mask)), slice(size))
    if size > n:
        places = concatenate([places, zeros_like(places, shape=(size - n,))], axis=0)
    return where(less(arange_like(mask, size), sum(mask)), places, fill_value)


_sized = [case(booleans(4), size=3), case(integers(2, 3, high=2), size=2), case(integers(2, 2, high=2), size=6, fill_value=-1)]


@composite(differentiable=False, samples=_sized)
def flatnonzero(x, /, size=None, fill_value: Any = 0):
    """Places in an array x flattened of the elements that are not zero.

    size: None for all of them (lanes of `vmap` are split by it), or the number of places to return, the first ones, filled
    up by fill_value. Raises ConcreteValueError in a trace without size.
    """
    return mask_places("flatnonzero", not_equal(ravel(x), 0), size, fill_value)


@composite(differentiable=False, samples=_sized)
def nonzero(x, /, size=None, fill_value: Any = 0):
    """Places of the elements that are not zero, a tuple of one vector of places per axis.

    size, fill_value: as for `flatnonzero`. Raises ShapeError for an array without axes, ConcreteValueError in a trace
    without size.

    >>> import numpy as np, polyad as pa
    >>> pa.nonzero(np.array([0.0, 2.0, 0.0, 1.0]))
    (array([1, 3]),)
    """
    if not ndim_of(x):
        raise ShapeError(f"nonzero: {describe(x)} has no axes; use polyad.flatnonzero")
    lengths = shape_of(x)
    places = mask_places("nonzero", not_equal(ravel(x), 0), size, -1)
    found = [places] if len(lengths) == 1 else []
    flat = places
    for n in reversed(lengths) if len(lengths) > 1 else ():
        n = n or 1  # without elements there are no places
        found.insert(0, remainder(flat, n))
        flat = floor_divide(flat, n)
    return tuple(found) if size is None else tuple(where(less(places, 0), fill_value, f) for f in found)


@composite(differentiable=False, samples=_sized[1:])
def argwhere(x, /, size=None, fill_value: Any = 0):
    """Places of the elements that are not zero, one row of positions along the axes for each.

    size, fill_value: as for `flatnonzero`. Raises ConcreteValueError in a trace without size.
    """
    if not ndim_of(x):
        count = shape_of(mask_places("argwhere", not_equal(ravel(x), 0), size, 0))[0]
        return zeros_like(x, dtype=PLACE, shape=(count, 0))
    return stack(nonzero(x, size=size, fill_value=fill_value), axis=-1)
