"""Pooling: the largest or the mean element of windows over the spatial axes."""

import math
from typing import Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe
from ..array_libraries import asarray_like
from ..avals import dtype_of, ndim_of, shape_of
from ..card import composite
from ..samples import case, distinct, normal
from .arithmetic import divide
from .padding import pad
from .reduce import max, sum
from .shape import reshape
from .windows import pads, per_axis, positions, sliding_windows


def _geometry(name, x, window, strides, padding):
    count = ndim_of(x) - 2
    if not 1 <= count <= 3:
        raise ShapeError(f"{name}: {describe(x)}; it takes (batch, channels, *space) of one to three spatial axes")
    window = per_axis(name, "window", window, count)
    strides = window if strides is None else per_axis(name, "strides", strides, count)
    space = shape_of(x)[2:]
    padding = pads(name, padding, space, window, strides, (1,) * count)
    if any(n >= k for pair, k in zip(padding, window) for n in pair):
        raise ShapeError(f"{name}: padding {padding} is not smaller than the window {list(window)}, which may hold no element")
    out = positions(name, [n + a + b for n, (a, b) in zip(space, padding)], window, strides, (1,) * count)
    return window, strides, padding, out


def _total(pair):
    return pair[0] + pair[1]


def _padded(x, padding, value):
    return pad(x, ((0, 0), (0, 0), *padding), constant_values=value) if any(map(_total, padding)) else x


@composite(
    kernel=None,
    numpy=(),
    samples=[
        case(distinct(2, 1, 6), window=2), case(distinct(1, 2, 4, 5), window=(2, 3), strides=(2, 1)),
        case(distinct(1, 1, 5, 4), window=3, strides=2, padding=1), case(distinct(1, 1, 5), window=2, padding="same"),
    ],
)  # fmt: skip
def max_pool(x, /, window, strides=None, padding: Any = "valid"):
    """The largest element of each window over the spatial axes; equal ones share the derivative, as in `max`.

    x: real array of shape (batch, channels, *space), one to three spatial axes. window: its lengths, an int or one per axis.
    strides: steps from window to window, that length unless given. padding: as for `conv`; padded places never win. Returns
    shape (batch, channels, *positions). Raises ShapeError, DTypeError for complex numbers.

    >>> import numpy as np, polyad as pa
    >>> pa.max_pool(np.array([[[1.0, 3.0, 2.0, 0.0]]]), window=2)
    array([[[3., 2.]]])
    """
    dtype = dtype_of(x)
    if dtype.kind not in "iuf":
        raise DTypeError(f"max_pool: {describe(x)}; it takes real numbers")
    window, strides, padding, _ = _geometry("max_pool", x, window, strides, padding)
    lowest = -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)
    windows = sliding_windows(_padded(x, padding, lowest), window=window, strides=strides)
    return max(windows, axis=tuple(range(2, 2 + len(window))))


@composite(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 1, 6), window=2), case(normal(1, 2, 4, 5), window=(2, 3), strides=(2, 1)),
        case(normal(1, 1, 5, 4), window=3, strides=2, padding=1),
    ],
)  # fmt: skip
def mean_pool(x, /, window, strides=None, padding: Any = "valid"):
    """The mean of the elements of each window over the spatial axes; padded places do not count.

    Parameters and shape as for `max_pool`; integers are averaged in float64. Raises ShapeError.
    """
    window, strides, padding, out = _geometry("mean_pool", x, window, strides, padding)
    inexact = dtype_of(x).kind in "fc"
    windows = sliding_windows(_padded(x, padding, 0), window=window, strides=strides)
    total = sum(windows, axis=tuple(range(2, 2 + len(window))), dtype=None if inexact else np.float64)
    if not any(map(_total, padding)):
        return divide(total, math.prod(window))
    real = np.real(np.zeros((), dtype_of(total))).dtype
    for axis, (n, k, s, (before, _), m) in enumerate(zip(shape_of(x)[2:], window, strides, padding, out)):
        first = np.arange(m) * s - before
        held = np.minimum(first + k, n) - np.maximum(first, 0)
        total = divide(total, reshape(asarray_like(held, x, dtype=real), shape=(m, *(1,) * (len(window) - 1 - axis))))
    return total
