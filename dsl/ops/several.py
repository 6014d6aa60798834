"""Functions of several arrays or with several results that only change shapes, made of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import broadcast_shapes as common_shape
from ..avals import ndim_of, normalize_axis, shape_of
from .indexing import getitem
from .shape import broadcast_to, reshape

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to. shapes: ints or tuples of ints. Raises ShapeError.

    >>> import polyad as pa
    >>> pa.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, TypeError):
        raise ShapeError(f"broadcast_shapes: {', '.join(map(str, shapes))} do not broadcast; check the lengths") from None


def broadcast_arrays(*arrays: Any) -> tuple[AnyArray, ...]:
    """The arrays repeated to their common shape, as a tuple; see `broadcast_to`. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.broadcast_arrays(np.arange(2), 5)
    (array([0, 1]), array([5, 5]))
    """
    shape = common_shape("broadcast_arrays", arrays)
    return tuple([broadcast_to(x, shape=shape) for x in arrays])


def unstack(x: Any, /, axis: int = 0) -> tuple[AnyArray, ...]:
    """The slices of x along an axis, as a tuple, without that axis: the inverse of `stack`. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.unstack(np.eye(2))
    (array([1., 0.]), array([0., 1.]))
    """
    if not ndim_of(x):
        raise ShapeError(f"unstack: {describe(x)} has no axis")
    axis = normalize_axis("unstack", axis, ndim_of(x))
    before = (slice(None),) * axis
    return tuple([getitem(x, (*before, i)) for i in range(shape_of(x)[axis])])


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> tuple[AnyArray, ...]:
    """Coordinates of all points of a grid: array i holds, at each point, the coordinate along axis i.

    arrays: coordinates along each axis, one axis each (or none, for a single one). indexing: "ij" for the axes in the
    order of the arrays, "xy" with the first two exchanged (as rows and columns of a picture are). sparse: leave each
    array with length 1 along the axes on which it does not depend; they broadcast to the grid.
    Returns a tuple of arrays, all of the grid's shape. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.meshgrid(np.arange(3), np.arange(2))[1]
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing={indexing!r} is neither 'xy' nor 'ij'")
    if any(ndim_of(x) > 1 for x in arrays):
        raise ShapeError(f"meshgrid: {', '.join(describe(x) for x in arrays)}: coordinates have one axis; use ravel")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = 1, 0
    wide = [reshape(x, shape=tuple(-1 if i == place else 1 for i in range(len(arrays)))) for x, place in zip(arrays, places)]
    return tuple(wide) if sparse else broadcast_arrays(*wide)
