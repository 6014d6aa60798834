"""Kernels for a NumPy-like library `xp` of what it has in another form or not at all: Fourier transforms with explained
errors, products over named axes, windows and convolution layers (as matrix products, so that BLAS does the work)."""

import math
from typing import Any

import numpy as np

from ..dsl import contract
from ..dsl.avals import aval_of, ndim_of
from ..dsl.ops.conv import conv_input_shape, conv_shape, conv_weight_shape, geometry
from ..dsl.ops.convolve import extent
from ..dsl.ops.einsum import label_lengths, parse
from ..dsl.ops.fft import transform_length
from ..dsl.ops.windows import overlap_geometry, window_geometry

CHUNK = 2**22  # elements of windows copied at a time
SMALL = 2**13  # products, for which a plain loop beats matrix products


def fourier_kernels(xp):
    """name -> function: the library's, once its arguments were looked at."""

    def checked(name):
        function = getattr(xp.fft, name)

        def transform(x, n=None, axis=-1, norm=None):
            transform_length(name, x, n, axis, norm)
            return function(x, n=n, axis=axis, norm=norm)

        return transform

    return {name: checked(name) for name in ("fft", "ifft", "rfft", "irfft")}


def sequence_kernels(xp):
    """`convolve` as the library has it, for sequences alone (NumPy's takes a number for a sequence of one)."""

    def convolve(a, v, mode="full"):
        a, v = xp.asarray(a), xp.asarray(v)
        extent("convolve", a, v, mode)
        return xp.convolve(a, v, mode)

    return {"convolve": convolve}


def small_products(xp):
    """`contract` for a library on the host: the library's own loop for small arrays, else by matrix products."""
    body: Any = contract.card.body

    def contract_small(*xs, subscripts, optimize="auto"):
        inputs, _ = parse(subscripts, tuple([ndim_of(x) for x in xs]))
        work = math.prod(label_lengths(subscripts, xs, inputs).values())
        if work > SMALL and len(xs) > 1:
            return body(*xs, subscripts=subscripts, optimize=optimize)
        return xp.einsum(subscripts, *xs)

    return {"contract": contract_small}


# ---------------------------------------------------------------------- windows
def _windows(xp, x, window, strides, dilation, out):
    """A view of x, shape (…, *window, *out)."""
    count = len(window)
    lead, steps = x.strides[: x.ndim - count], x.strides[x.ndim - count :]
    view = {"writeable": False} if xp is np else {}
    return xp.lib.stride_tricks.as_strided(
        x,
        (*x.shape[: x.ndim - count], *window, *out),
        (*lead, *[n * d for n, d in zip(steps, dilation)], *[n * s for n, s in zip(steps, strides)]),
        **view,
    )


def _add_windows(x, y, window, strides, dilation, out):
    """Add y, shape (…, *window, *out), to x where its windows lie."""
    for place in np.ndindex(*window):
        where = [slice(k * d, k * d + s * (n - 1) + 1, s) for k, s, d, n in zip(place, strides, dilation, out)]
        x[(..., *where)] += y[(..., *place, *[slice(None)] * len(out))]


def window_kernels(xp):
    """`sliding_windows` and `overlap_add`."""

    def sliding_windows(x, window, strides=1, dilation=1):
        x = xp.asarray(x)
        _, *geometry = window_geometry(x, window, strides, dilation)
        return _windows(xp, x, *geometry)

    def overlap_add(y, space, strides=1, dilation=1):
        lead, *geometry = overlap_geometry(y, space, strides, dilation)
        x = xp.zeros((*lead, *space), y.dtype)
        _add_windows(x, y, *geometry)
        return x

    return {"sliding_windows": sliding_windows, "overlap_add": overlap_add}


# ---------------------------------------------------------------------- layers
def convolution_kernels(xp):
    """`conv` and its two transposes: the windows of the input side by side, times the weight as a matrix."""

    def layout(x, w, strides, padding, dilation, groups):
        """(batch, groups, lengths of windows and positions, …) from lengths of x (batch, channels, …) and w."""
        strides, padding, dilation, out = geometry("conv", x[2:], w[2:], strides, padding, dilation)
        per_sample = x[1] * math.prod(w[2:]) * math.prod(out)
        return strides, padding, dilation, out, max(1, CHUNK // max(1, per_sample))

    def padded(x, padding):
        if not any(n for pair in padding for n in pair):
            return x
        wide = xp.zeros((*x.shape[:2], *[n + a + b for n, (a, b) in zip(x.shape[2:], padding)]), x.dtype)
        wide[inside(x.shape, padding)] = x
        return wide

    def inside(shape, padding):
        return (..., *[slice(a, a + n) for n, (a, _) in zip(shape[2:], padding)])

    def columns(x, groups, kernel, strides, padding, dilation, out):
        """The windows of x as a stack of matrices (groups, channels in · kernel, batch · positions)."""
        windows = _windows(xp, padded(x, padding), kernel, strides, dilation, out)
        batch, channels, *rest = windows.shape
        windows = windows.reshape(batch, groups, channels // groups, *rest) if groups > 1 else windows[:, None]
        k = len(kernel)
        windows = windows.transpose(1, 2, *range(3, 3 + k), 0, *range(3 + k, 3 + 2 * k))
        return windows.reshape(groups, channels // groups * math.prod(kernel), batch * math.prod(out))

    def rows(y, groups):
        """y (batch, out, …) as a stack of matrices (groups, out, batch · positions)."""
        batch, channels, *out = y.shape
        y = y.reshape(batch, groups, channels // groups, math.prod(out)).transpose(1, 2, 0, 3)
        return y.reshape(groups, channels // groups, batch * math.prod(out))

    def conv(x, w, strides=1, padding="valid", dilation=1, groups=1):
        result = conv_shape(aval_of(x), aval_of(w), strides, padding, dilation, groups)
        strides, padding, dilation, out, chunk = layout(x.shape, w.shape, strides, padding, dilation, groups)
        matrix = w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))
        y = xp.empty(result.shape, result.dtype)
        for i in range(0, x.shape[0], chunk):
            part = x[i : i + chunk]
            z = xp.matmul(matrix, columns(part, groups, w.shape[2:], strides, padding, dilation, out))
            z = z.reshape(groups, w.shape[0] // groups, part.shape[0], *out)
            y[i : i + chunk] = xp.moveaxis(z, 2, 0).reshape(part.shape[0], w.shape[0], *out)
        return y

    def conv_weight(x, y, kernel, strides=1, padding="valid", dilation=1, groups=1):
        result = conv_weight_shape(aval_of(x), aval_of(y), kernel, strides, padding, dilation, groups)
        strides, padding, dilation, out, chunk = layout(x.shape, result.shape, strides, padding, dilation, groups)
        w = xp.zeros((groups, y.shape[1] // groups, x.shape[1] // groups * math.prod(kernel)), result.dtype)
        for i in range(0, x.shape[0], chunk):
            windows = columns(x[i : i + chunk], groups, kernel, strides, padding, dilation, out)
            w += xp.matmul(rows(y[i : i + chunk], groups), windows.transpose(0, 2, 1))
        return w.reshape(result.shape)

    def conv_input(y, w, space, strides=1, padding="valid", dilation=1, groups=1):
        result = conv_input_shape(aval_of(y), aval_of(w), space, strides, padding, dilation, groups)
        strides, padding, dilation, out, chunk = layout(result.shape, w.shape, strides, padding, dilation, groups)
        channels, kernel = w.shape[1], w.shape[2:]
        matrix = w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:])).transpose(0, 2, 1)
        wide = [n + a + b for n, (a, b) in zip(space, padding)]
        x = xp.zeros((groups, channels, y.shape[0], *wide), result.dtype)
        for i in range(0, y.shape[0], chunk):
            part = y[i : i + chunk]
            windows = xp.matmul(matrix, rows(part, groups)).reshape(groups, channels, *kernel, part.shape[0], *out)
            _add_windows(x[:, :, i : i + chunk], xp.moveaxis(windows, 2 + len(kernel), 2), kernel, strides, dilation, out)
        x = xp.moveaxis(x[inside(result.shape, padding)], 2, 0)
        return x.reshape(result.shape)

    return {"conv": conv, "conv_weight": conv_weight, "conv_input": conv_input}
