"""Padding: an array with elements added at its ends."""

from typing import Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe, isa, snapshot
from ..array_libraries import asarray_like
from ..avals import dtype_of, ndim_of, shape_of
from ..card import composite
from ..samples import case, complex_normal, normal
from .complex import astype
from .indexing import take
from .rearrange import array_like
from .shape import broadcast_to, concatenate

BY_PLACE = ("edge", "wrap", "reflect", "symmetric")  # modes whose elements are copies of x's own


@composite(
    samples=[
        case(normal(3), 2), case(normal(2, 3), ((1, 0), (0, 2))), case(normal(4), (2, 1), mode="reflect"),
        case(normal(4), 2, mode="edge"), case(normal(4), 3, mode="wrap"), case(normal(4), 2, mode="symmetric"),
        case(normal(2, 2), 1, constant_values=2.5), case(complex_normal(2), (0, 1)),
        case(normal(2, 2), 1, constant_values=((1, 2), (3, 4))), case(normal(3), 5, mode="reflect", reflect_type="even"),
    ],
)  # fmt: skip
def pad(x, /, pad_width, mode="constant", constant_values: Any = 0, reflect_type="even"):
    """x with elements added before and after, per axis: zeros (or `constant_values`), or copies of its own.

    pad_width: int, (before, after), or one such pair per axis. mode: "constant", "edge", "wrap", "reflect" or "symmetric".
    constant_values: a number (also a followed one), or numbers in the form of pad_width; converted to x's dtype.
    reflect_type: "even" only. Raises ShapeError; DTypeError for another mode.
    """
    if mode != "constant" and mode not in BY_PLACE:
        raise DTypeError(f"pad: mode {mode!r} is not offered; modes are 'constant', {', '.join(map(repr, BY_PLACE))}")
    if reflect_type != "even":
        raise DTypeError(f"pad: reflect_type {reflect_type!r} is not offered, only 'even'")
    widths = [tuple(int(n) for n in pair) for pair in _widths_per_axis("pad_width", pad_width, x)]
    if min((n for pair in widths for n in pair), default=0) < 0:
        raise ShapeError(f"pad: widths must not be negative: {widths}")
    listed = isa(constant_values, (tuple, list, np.ndarray))
    values = _widths_per_axis("constant_values", constant_values, x) if listed else [(constant_values,) * 2] * ndim_of(x)
    for axis, (before, after) in enumerate(widths):
        if mode == "constant":
            parts = [_block(x, axis, before, values[axis][0]), x, _block(x, axis, after, values[axis][1])]
            x = concatenate([part for part in parts if part is not None], axis=axis)
        elif before or after:
            x = take(x, asarray_like(_places(x, axis, (before, after), mode), x), axis=axis)
    return snapshot(x)


def _widths_per_axis(name, value, x):
    """One (before, after) per axis."""
    try:
        return np.broadcast_to(np.asarray(value), (ndim_of(x), 2))
    except ValueError:
        raise ShapeError(f"pad: {name} {value!r} does not fit {describe(x)}; give (before, after) for each axis") from None


def _block(x, axis, n, value):
    """n constant places along an axis, None for none."""
    if n == 0:
        return None
    return broadcast_to(
        astype(array_like(value, x), dtype=dtype_of(x)), shape=(*shape_of(x)[:axis], n, *shape_of(x)[axis + 1 :])
    )


def _places(x, axis, widths, mode):
    try:
        return np.pad(np.arange(shape_of(x)[axis]), widths, mode=mode)
    except ValueError as error:
        raise ShapeError(f"pad: axis {axis} of {describe(x)}: {error}") from None
