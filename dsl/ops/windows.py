"""Windows that slide over the last axes of an array, and their transpose, which adds overlapping windows up."""

from typing import Any

from ...dispatch import ShapeError, describe
from ..avals import Aval, ndim_of, normalize_axis, shape_of
from ..card import composite, linear
from ..samples import case, complex_normal, normal
from .shape import moveaxis, transpose


def per_axis(name, what, value, count, least=1):
    """One integer per axis, from one for all or a sequence of them. Raises ShapeError."""
    values = (value,) * count if hasattr(value, "__index__") else tuple(value)
    if len(values) != count or not all(hasattr(n, "__index__") and n.__index__() >= least for n in values):
        raise ShapeError(f"{name}: {what}={value!r}; give an integer of at least {least}, or one for each of {count} axes")
    return tuple(n.__index__() for n in values)


def pads(name, padding, space, window, strides, dilation):
    """(before, after) for each axis: from an integer, one entry (integer or pair) per axis, "valid" or "same"."""
    count = len(space)
    if padding == "valid":
        padding = 0
    if padding == "same":
        pairs = []
        for n, k, s, d in zip(space, window, strides, dilation):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            pairs.append((total // 2, total - total // 2))
        return tuple(pairs)
    entries: Any = (padding,) * count if hasattr(padding, "__index__") else padding
    if isinstance(entries, str) or len(entries) != count:
        raise ShapeError(f"{name}: padding={padding!r}; give an integer, (before, after) for each of {count} axes, 'same' or "
                         "'valid'")  # fmt: skip
    return tuple(per_axis(name, "padding", e, 2, least=0) for e in entries)


def positions(name, space, window, strides, dilation):
    """Count the windows that fit along each axis. Raises ShapeError if none does."""
    out = tuple((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(space, window, strides, dilation))
    if min(out, default=1) < 1:
        raise ShapeError(f"{name}: a window of {list(window)} with dilation {list(dilation)} does not fit into {list(space)}")
    return out


def _window_pieces(name, x, count):
    if ndim_of(x) < count:
        raise ShapeError(f"{name}: {x if isinstance(x, Aval) else describe(x)} has fewer than {count} axes")
    shape = shape_of(x)
    return shape[: len(shape) - count], shape[len(shape) - count :]


def window_geometry(x, window, strides, dilation):
    """(leading lengths, window, strides, dilation, positions) of `sliding_windows`, per axis."""
    window = (window,) if hasattr(window, "__index__") else tuple(window)
    count = len(window)
    lead, space = _window_pieces("sliding_windows", x, count)
    window = per_axis("sliding_windows", "window", window, count)
    strides = per_axis("sliding_windows", "strides", strides, count)
    dilation = per_axis("sliding_windows", "dilation", dilation, count)
    return lead, window, strides, dilation, positions("sliding_windows", space, window, strides, dilation)


def overlap_geometry(y, space, strides, dilation):
    """(leading lengths, window, strides, dilation, positions) of `overlap_add`, per axis."""
    count = len(space)
    lead, rest = _window_pieces("overlap_add", y, 2 * count)
    strides = per_axis("overlap_add", "strides", strides, count)
    dilation = per_axis("overlap_add", "dilation", dilation, count)
    window, out = rest[:count], rest[count:]
    if out != positions("overlap_add", space, window, strides, dilation):
        raise ShapeError(f"overlap_add: windows {list(window)} at {list(out)} positions do not come from {list(space)}")
    return lead, window, strides, dilation, out


@linear(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 5), window=3), case(normal(2, 4, 5), window=(2, 3), strides=(1, 2)),
        case(complex_normal(7), window=(2,), strides=2, dilation=3),
    ],
)  # fmt: skip
def sliding_windows(x, /, window, strides: Any = 1, dilation: Any = 1):
    """The windows of an array at every position over its last axes: y[…, k, o] = x[…, strides·o + dilation·k].

    x: shape (…, *space). window: lengths, one per axis they slide over, or an int for the last axis alone. strides: steps from
    one position to the next; dilation: steps between the elements of a window; ints, or one per axis. Returns shape
    (…, *window, *positions), a read-only view where the library has one. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.sliding_windows(np.arange(4), window=2)
    array([[0, 1, 2],
           [1, 2, 3]])
    """


@linear(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 3, 3), space=(5,)), case(normal(2, 2, 3, 3, 2), space=(4, 5), strides=(1, 2)),
        case(complex_normal(2, 2), space=(7,), strides=2, dilation=3),
    ],
)  # fmt: skip
def overlap_add(y, /, space, strides: Any = 1, dilation: Any = 1):
    """Windows added up where they overlap, the transpose of `sliding_windows`: x[…, strides·o + dilation·k] += y[…, k, o].

    y: shape (…, *window, *positions). space: lengths of the axes of the result, shape (…, *space). strides, dilation: as for
    `sliding_windows`. Raises ShapeError.
    """


@sliding_windows.rule("shape")
def sliding_windows_shape(x, window, strides=1, dilation=1):
    lead, window, _, _, out = window_geometry(x, window, strides, dilation)
    return Aval((*lead, *window, *out), x.dtype)


@overlap_add.rule("shape")
def overlap_add_shape(y, space, strides=1, dilation=1):
    lead, *_ = overlap_geometry(y, space, strides, dilation)
    return Aval((*lead, *space), y.dtype)


def _windows_transpose(ct, y, x, window, strides=1, dilation=1):
    count = 1 if hasattr(window, "__index__") else len(window)
    return overlap_add(ct, space=shape_of(x)[ndim_of(x) - count :], strides=strides, dilation=dilation)


def _overlap_transpose(ct, y, x, space, strides=1, dilation=1):
    count = len(space)
    window = shape_of(x)[ndim_of(x) - 2 * count : ndim_of(x) - count]
    return sliding_windows(ct, window=window, strides=strides, dilation=dilation)


sliding_windows.rule("transpose")([_windows_transpose])
overlap_add.rule("transpose")([_overlap_transpose])
for op in (sliding_windows, overlap_add):  # lanes are one more leading axis
    op.rule("batch")(lambda size, xs, batched, op=op, **params: op(*xs, **params))


@composite(
    numpy=("lib.stride_tricks.sliding_window_view",),
    samples=[
        case(normal(5), 2), case(normal(3, 4), (2, 3)), case(normal(3, 4, 2), 2, axis=1), case(normal(5), (2, 2), axis=(0, 0))
    ],
)  # fmt: skip
def sliding_window_view(x, /, window_shape, axis=None):
    """The windows of an array at every position, NumPy's layout: the axes of x hold positions, those of the window come last.

    x: array. window_shape: int or one length per axis. axis: the axes, also repeated ones; all unless given. Returns a
    read-only view for NumPy arrays. Raises ShapeError.
    """
    lengths = (window_shape,) if hasattr(window_shape, "__index__") else tuple(window_shape)
    axes = range(ndim_of(x)) if axis is None else (axis,) if hasattr(axis, "__index__") else axis
    axes = [normalize_axis("sliding_window_view", a, ndim_of(x)) for a in axes]
    if len(axes) != len(lengths):
        raise ShapeError(f"sliding_window_view: {len(lengths)} window lengths for {len(axes)} axes of {describe(x)}")
    for a, n in zip(axes, lengths):
        x = sliding_windows(moveaxis(x, a, -1), window=(n,))
        order = [i for i in range(ndim_of(x)) if i != ndim_of(x) - 2]  # the window's axis last
        order.insert(a, order.pop())
        x = transpose(x, axes=(*order, ndim_of(x) - 2))
    return x
