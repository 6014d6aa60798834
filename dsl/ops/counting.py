"""Counts: how often integers occur, and how many elements lie in each interval."""

from typing import Any

import numpy as np

from ...dispatch import ConcreteValueError, DTypeError, ShapeError, describe, isa
from ...dispatch.layers import noted
from ..array_libraries import host_copy
from ..avals import dtype_of, ndim_of, shape_of
from ..card import composite
from ..samples import case, integers, normal
from .arithmetic import add, divide, multiply, subtract
from .at import at
from .compare import equal, greater_equal, where
from .complex import astype
from .create import arange_like, ones_like, zeros_like
from .cumulative import diff
from .indexing import getitem
from .rearrange import array_like
from .reduce import max, min, sum
from .search import PLACE, searchsorted
from .shape import ravel, size_of

_weights = np.random.default_rng(3).uniform(0.5, 1.5, 6).tolist()


@composite(
    samples=[
        case(integers(6, high=4), size=5), case(integers(6, high=4), size=3),
        case(integers(6, high=4), weights=_weights, size=4),
    ],
)  # fmt: skip
def bincount(x, /, weights=None, minlength=0, size=None):
    """Count how often each integer from 0 on occurs in x, or sum its weights.

    x: array of integers of at least 0, with one axis. weights: vector of x's length, followed by derivatives. The result has
    max(x) + 1 elements, at least minlength; or exactly `size`, larger integers being left out, which a trace needs and which
    does not split the lanes of `vmap`. Raises ShapeError, DTypeError; ConcreteValueError in a trace without size.
    """
    if ndim_of(x) != 1 or dtype_of(x).kind not in "biu":
        raise DTypeError(f"bincount: {describe(x)} is not a vector of integers; use ravel and astype")
    if weights is not None and shape_of(array_like(weights, x)) != shape_of(x):
        raise ShapeError(f"bincount: weights {describe(array_like(weights, x))} for {describe(x)}; their lengths must agree")
    length = _length(x, minlength) if size is None else size
    weights = ones_like(x, dtype=PLACE) if weights is None else array_like(weights, x)
    weights = weights if dtype_of(weights) in (PLACE, np.complex128) else astype(weights, dtype=np.float64)
    outside = greater_equal(x, length)  # in one more place, which is dropped
    counts = at(zeros_like(weights, shape=(length + 1,)), where(outside, length, x)).add(weights)
    return getitem(counts, slice(length))


def _length(x, minlength):
    """One more than the largest element."""
    if not shape_of(x)[0]:
        return minlength
    try:
        first, last = host_copy(min(x)), host_copy(max(x))
    except ConcreteValueError as error:
        text = "bincount: the number of counts depends on the values, which a trace does not have; give size="
        raise noted(x, ConcreteValueError(text)) from error
    if first < 0:
        raise ShapeError(f"bincount: {describe(x)} has negative elements")
    return int(last) + 1 if last >= minlength else minlength


# ---------------------------------------------------------------------- histograms
def _edges(name, x, bins, range):
    """Edges of the bins, a vector of floating numbers."""
    if isinstance(bins, str):
        raise DTypeError(f"{name}: bins={bins!r} is not offered; give their number, or a vector of edges")
    bins = bins if isa(bins, int) else array_like(bins, x)
    if ndim_of(bins) > 1:
        raise ShapeError(f"{name}: bins is {describe(bins)}; give their number, or a vector of edges")
    if ndim_of(bins):
        return bins
    n = bins.__index__()
    if n < 1:
        raise ShapeError(f"{name}: the number of bins must be at least 1, not {n}")
    if range is not None:
        first, last = range
    elif not size_of(x):
        first, last = 0.0, 1.0
    else:
        first, last = min(x), max(x)
    first, last = array_like(first, x), array_like(last, x)
    same = equal(first, last)  # one value has an interval of length 1 around it
    first, last = where(same, subtract(first, 0.5), first), where(same, add(last, 0.5), last)
    steps = arange_like(x, n + 1)
    edges = add(multiply(steps, divide(subtract(last, first), n)), first)
    edges = where(equal(steps, n), last, edges)
    if dtype_of(x).kind not in "fc":
        return edges
    ends = [end if isa(end, (int, float)) else dtype_of(end) for end in range or ()]
    return astype(edges, dtype=np.result_type(dtype_of(x), *ends))


@composite(samples=[case(normal(6), 4), case(normal(2, 3), 3, range=(-1.0, 1.0)), case(integers(5), (0.0, 2.0, 7.0))])
def histogram_bin_edges(x, /, bins: Any = 10, range=None):
    """The edges of the bins of `histogram`: an array of one number more than there are bins. Raises ShapeError."""
    return _edges("histogram_bin_edges", x, bins, range)


@composite(
    samples=[
        case(normal(6), 4), case(normal(2, 3), 3, range=(-1.0, 1.0)), case(integers(5), (0.0, 2.0, 7.0)),
        case(normal(6), 3, weights=_weights), case(normal(6), 3, density=True),
    ],
)  # fmt: skip
def histogram(x, /, bins: Any = 10, range=None, density=None, weights=None):
    """Count the elements in each bin: a tuple of counts and edges.

    x: real array. bins: number of bins of equal width from the smallest to the largest element (or over `range`, a pair),
    or an ascending vector of edges. A bin contains its left edge, the last one also its right edge. weights: array of x's
    shape to be summed instead of ones; the sums have derivatives by them. density: divide by the total and the widths.
    Counts have no derivative by x; edges have one. Raises ShapeError.
    """
    edges = _edges("histogram", x, bins, range)
    x, n = ravel(x), shape_of(edges)[0] - 1
    place = searchsorted(edges, x, side="right")
    place = where(equal(x, getitem(edges, -1)), n, place)
    weights = ones_like(place) if weights is None else ravel(array_like(weights, x))
    if shape_of(weights) != shape_of(x):
        raise ShapeError(f"histogram: {size_of(weights)} weights for {size_of(x)} elements")
    counts = getitem(at(zeros_like(weights, shape=(n + 2,)), place).add(weights), slice(1, -1))
    if density:
        counts = divide(counts, multiply(diff(edges), sum(counts)))
    return counts, edges
