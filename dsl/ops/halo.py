"""The strips beside a block that its neighbours along a named axis have: what a stencil reads beyond its own elements."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ...dispatch import ShapeError, describe
from ..avals import ndim_of, normalize_axis, shape_of
from ..axes import find_axis
from .joining import split
from .lane_moves import ppermute
from .shape import concatenate

if TYPE_CHECKING:
    from collections.abc import Hashable


def halo(x: Any, axis_name: Hashable, width: Any = 1, axis: int = 0, periodic: bool = False) -> Any:
    """Add to x the strips beside it of the neighbouring lanes: the end of the lane before, the beginning of the lane after.

    x: array, the block of each lane. axis_name: name of the axis along which the lanes lie beside each other. width: number of
    elements of each strip, or (before, after). axis: the axis of x along which they lie. periodic: the first and the last lane
    are neighbours; else there are zeros before the first and after the last one. Returns an array that is longer along the
    axis by both widths. One message from each neighbour; derivatives send the strips' cotangents back. Raises AxisNameError;
    ShapeError for a strip that is longer than x.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.halo(x, "i"), axis_name="i")(np.array([[1, 2], [3, 4], [5, 6]]))
    array([[0, 1, 2, 3],
           [2, 3, 4, 5],
           [4, 5, 6, 0]])
    """
    before, after = (operator.index(w) for w in (width if isinstance(width, (tuple, list)) else (width, width)))
    size, at = find_axis(axis_name, "halo").size, normalize_axis("halo: axis", axis, ndim_of(x))
    length = shape_of(x)[at]
    if min(before, after) < 0 or max(before, after) > length:
        raise ShapeError(
            f"halo: strips of {before} and {after} beside {describe(x)}, whose axis {at} has length {length}; a strip comes "
            "from one neighbour, which has no more"
        )
    onwards = [(k, k + 1) for k in range(size - 1)] + [(size - 1, 0)] * bool(periodic and size)
    parts = [x]
    if before:
        parts.insert(0, ppermute(split(x, [length - before], axis=at)[1], axis_name, onwards))
    if after:
        parts.append(ppermute(split(x, [after], axis=at)[0], axis_name, [(b, a) for a, b in onwards]))
    return concatenate(parts, axis=at) if len(parts) > 1 else x
