"""Operations along a named axis by which a lane gets what others have: gathered, sent from lane to lane, or summed up to it.

Results of `all_gather` and `broadcast` are the same in every lane, those of the others each lane's own. Several names are one
axis whose lanes are numbered in their order, the last fastest.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, StructureError, describe, is_container, tree
from ..avals import dtype_of, ndim_of, normalize_axis, shape_of
from .compare import equal, greater, less, logical_or, where
from .create import arange_like
from .lane_collectives import (
    contribution,
    lane_exchange,
    lane_gather,
    lane_permute,
    lane_pick,
    lane_scan,
    lane_scatter,
    routed,
)
from .named import axes_named, each_array, number_along, size_of
from .reduce import max as max_
from .reduce import min as min_
from .reduce import prod, sum
from .shape import moveaxis, reshape

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ...dispatch.annotations import X


def _row_axis(name, x, axis, size, tiled, what):
    """The place of the axis whose parts go to the lanes. Raises ShapeError if it does not fit."""
    axis = normalize_axis(f"{name}: {what}", axis, ndim_of(x))
    length = shape_of(x)[axis]
    if length % max(size, 1) if tiled else length != size:
        fits = f"a multiple of the {size} lanes" if tiled else f"{size}, a part for each lane"
        raise ShapeError(f"{name}: axis {axis} of {describe(x)} has length {length}; it must be {fits}")
    return axis


def _in_rows(x, axis, axes, tiled):
    """x with axes for the numbers of the lanes first, and its axis `axis` gone, or shorter if tiled."""
    lengths = [a.size for a in axes]
    shape = shape_of(x)
    if tiled:
        each = shape[axis] // max(size_of(axes), 1)
        x = reshape(x, shape=(*shape[:axis], *lengths, each, *shape[axis + 1 :]))
    else:
        x = reshape(x, shape=(*shape[:axis], *lengths, *shape[axis + 1 :]))
    return moveaxis(x, tuple(range(axis, axis + len(axes))), tuple(range(len(axes))))


# ---------------------------------------------------------------------- values of other lanes
def all_gather(x: Any, axis_name: Hashable, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all lanes in the lanes' order, the same in every lane.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. axis: where the lanes stand in the result, as a new
    axis, or, if tiled, as parts of the axis of x that is there. Raises AxisNameError; AxisError for an axis that is not there.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x * pa.all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([[1., 3.],
           [3., 9.]])
    """
    axes = axes_named("all_gather", axis_name)
    y = x
    for each in reversed(axes):
        y = each_array(lambda array, each=each: lane_gather(contribution(array, each), axis_name=each), y, [each], rows=True)

    def place(x, y):
        if is_container(y):
            return y
        shape = shape_of(x)
        at = normalize_axis("all_gather: axis", axis, len(shape) + (not tiled))
        y = reshape(y, shape=(size_of(axes), *shape)) if len(axes) > 1 else y
        y = moveaxis(y, 0, at) if at else y
        return reshape(y, shape=(*shape[:at], size_of(axes) * shape[at], *shape[at + 1 :])) if tiled else y

    return tree.map(place, x, y, is_leaf=is_container)


def psum_scatter(x: Any, axis_name: Hashable, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """Of the sum of x over the lanes, each lane's own part: lane k gets what is number k along an axis.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. scatter_dimension: the axis of x that has an element for
    each lane, and is gone in the result; or, if tiled, whose length is a multiple of the number of lanes, and that has a lane's
    part of it in the result. Raises AxisNameError, ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.psum_scatter(x, "i"), axis_name="i")(np.array([[1.0, 2.0], [10.0, 20.0]]))
    array([11., 22.])
    """
    axes = axes_named("psum_scatter", axis_name)

    def scatter(x):
        at = _row_axis("psum_scatter", x, scatter_dimension, size_of(axes), tiled, "scatter_dimension")
        x = _in_rows(x, at, axes, tiled)
        for axis in axes:
            x = lane_scatter(contribution(x, axis), axis_name=axis)
        return x

    return tree.map(scatter, x)


def all_to_all(x: Any, axis_name: Hashable, split_axis: int = 0, concat_axis: int = 0, tiled: bool = False) -> Any:
    """Send part k of x to lane k: a transposition of the lanes and an axis.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. split_axis: the axis of x whose parts go to the lanes:
    of one element each, and gone in the result, or, if tiled, of equal length. concat_axis: where what comes from the lanes
    stands in the result: as a new axis, or, if tiled, joined along that axis. Raises AxisNameError, ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.all_to_all(x, "i"), axis_name="i")(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    axes = axes_named("all_to_all", axis_name)
    size, last = size_of(axes), len(axes)

    def exchange(x):
        at = _row_axis("all_to_all", x, split_axis, size, tiled, "split_axis")
        x = _in_rows(x, at, axes, tiled)
        for k, axis in enumerate(axes):
            x = moveaxis(lane_exchange(contribution(moveaxis(x, k, 0), axis), axis_name=axis), 0, k)
        shape = shape_of(x)[last:]
        to = normalize_axis("all_to_all: concat_axis", concat_axis, len(shape) + (not tiled))
        x = moveaxis(reshape(x, shape=(size, *shape)), 0, to)
        return reshape(x, shape=(*shape[:to], size * shape[to], *shape[to + 1 :])) if tiled else x

    return tree.map(exchange, x)


def ppermute(x: X, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> X:
    """Send the value of some lanes to others; a lane to which none is sent gets zeros.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. perm: pairs (source, destination) of numbers of lanes,
    no source and no destination twice. Raises AxisNameError; StructureError for other pairs.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 2.])
    """
    axes = axes_named("ppermute", axis_name)
    size, sources, used = size_of(axes), {}, set()
    for pair in perm:
        source, to = (operator.index(k) for k in pair)
        if not (0 <= source < size and 0 <= to < size) or source in used or to in sources:
            raise StructureError(
                f"ppermute: the pair ({source}, {to}) of perm does not fit: sources and destinations are numbers from 0 to "
                f"{size - 1}, each at most once"
            )
        used.add(source)
        sources[to] = source
    return _from_sources(x, axes, tuple([sources.get(k, -1) for k in range(size)]))


def pshuffle(x: X, axis_name: Hashable, perm: Sequence[int]) -> X:
    """The value of lane perm[k] in lane k.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. perm: each lane's number once. Raises AxisNameError;
    StructureError if perm is no permutation.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.array([1.0, 2.0, 3.0]))
    array([3., 1., 2.])
    """
    axes = axes_named("pshuffle", axis_name)
    sources = tuple([operator.index(k) for k in perm])
    if sorted(sources) != list(range(size_of(axes))):
        raise StructureError(
            f"pshuffle: perm has to hold each number from 0 to {size_of(axes) - 1} once; it has {len(sources)}"
        )
    return _from_sources(x, axes, sources)


def _from_sources(x, axes, sources):
    if len(axes) == 1:
        (axis,) = axes
        return each_array(lambda array: lane_permute(contribution(array, axis), axis_name=axis, sources=sources), x, axes)
    own = number_along(axes)
    return tree.map(lambda rows: routed(rows, sources)[own], all_gather(x, tuple([axis.name for axis in axes])))


def broadcast(x: X, axis_name: Hashable, root: int = 0) -> X:
    """The value of the lane number root, the same in every lane.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. Raises AxisNameError; StructureError if there is no such
    lane.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.broadcast(x, "i", root=1), axis_name="i")(np.array([1.0, 3.0]))
    array([3., 3.])
    """
    axes = axes_named("broadcast", axis_name)
    root, size = operator.index(root), size_of(axes)
    if not 0 <= root < size:
        raise StructureError(f"broadcast: root is lane {root}, but the lanes are 0 to {size - 1}")
    for axis in reversed(axes):
        root, at = divmod(root, axis.size)
        x = each_array(lambda a, axis=axis, at=at: lane_pick(contribution(a, axis), axis_name=axis, root=at), x, [axis])
    return x


# ---------------------------------------------------------------------- in the order of the lanes
_FOLDS = {"sum": sum, "prod": prod, "max": max_, "min": min_}


def scan_over_axis(x: X, axis_name: Hashable, operation: str = "sum", *, exclusive: bool = False, reverse: bool = False) -> X:
    """Cumulate x over the lanes in their order: each gets what an operation gives of those up to it.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. operation: "sum", "prod", "max" or "min"; sums and
    products have the dtypes of NumPy's. exclusive: without the lane's own value; the first one gets 0, 1, or the least or
    largest number of the dtype. reverse: from the last lane on. Raises AxisNameError; StructureError for another operation.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.scan_over_axis(x, "i"), axis_name="i")(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    axes = axes_named("scan_over_axis", axis_name)
    if operation not in _FOLDS:
        raise StructureError(f"scan_over_axis: operation {operation!r} is not one of {', '.join(map(repr, _FOLDS))}")
    exclusive, reverse = bool(exclusive), bool(reverse)
    if operation == "sum" and len(axes) == 1:
        (axis,) = axes
        scan = lambda a: lane_scan(contribution(a, axis), axis_name=axis, exclusive=exclusive, reverse=reverse)
        return each_array(scan, x, axes)
    own, size = number_along(axes), size_of(axes)

    def fold(rows):
        numbers = reshape(arange_like(rows, size), shape=(size, *(1,) * (ndim_of(rows) - 1)))
        left_out = (less if reverse else greater)(numbers, own)
        if exclusive:
            left_out = logical_or(left_out, equal(numbers, own))
        return _FOLDS[operation](where(left_out, _identity(operation, dtype_of(rows)), rows), axis=0)

    return tree.map(fold, all_gather(x, axis_name))


def _identity(operation, dtype):
    """The number that changes no result of an operation."""
    if operation in ("sum", "prod"):
        return dtype.type(operation == "prod")
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    least, largest = (limits.min, limits.max) if limits else (-np.inf, np.inf) if dtype.kind == "f" else (False, True)
    return dtype.type(least if operation == "max" else largest)
