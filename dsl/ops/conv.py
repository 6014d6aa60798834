"""Convolution layers over one to three spatial axes.

y[b, o, p] = sum over channels i and places k of x[b, i, strides·p + dilation·k - before] w[o, i, k] is linear in x, in w, and,
paired with a cotangent of y, in that. So three operations close the circle: `conv` gives y from x and w, `conv_input` x from y
and w, `conv_weight` w from x and y; each is bilinear, and its transposes are the other two.
"""

from typing import Any

import numpy as np

from ...dispatch import ShapeError
from ..avals import Aval, infer, ndim_of, shape_of
from ..avals import aval_of as aval
from ..card import bilinear
from ..samples import case, complex_normal, normal
from .arithmetic import add
from .create import zeros_like
from .indexing import Slice, describe_shape, index, index_set
from .reduce import sum
from .shape import broadcast_to, expand_dims, moveaxis, reshape
from .windows import overlap_add, pads, per_axis, positions, sliding_windows


def geometry(name, space, kernel, strides, padding, dilation):
    """(strides, padding, dilation, positions), one entry per spatial axis. Raises ShapeError."""
    count = len(space)
    strides = per_axis(name, "strides", strides, count)
    dilation = per_axis(name, "dilation", dilation, count)
    padding = pads(name, padding, space, kernel, strides, dilation)
    wide = [n + before + after for n, (before, after) in zip(space, padding)]
    return strides, padding, dilation, positions(name, wide, kernel, strides, dilation)


def _check_axes(name, a, b):
    if not 3 <= ndim_of(a) <= 5 or ndim_of(a) != ndim_of(b):
        raise ShapeError(
            f"{name}: {describe_shape(a)} and {describe_shape(b)}; it takes (batch, channels, *space) and (out, in, *kernel) "
            "of one to three spatial axes"
        )


def _check_channels(name, x, w, y, groups):
    """x, w, y: lengths of (channels in), (out, in per group), (channels out), None for what is to be found."""
    if not hasattr(groups, "__index__") or groups < 1:
        raise ShapeError(f"{name}: groups={groups!r}; give an integer of at least 1")
    if (x is not None and x % groups) or (y is not None and y % groups):
        raise ShapeError(f"{name}: {groups} groups do not divide the channels, {x if x is not None else '?'} in, "
                         f"{y if y is not None else '?'} out")  # fmt: skip
    if w is not None and x is not None and x != w * groups:
        raise ShapeError(f"{name}: {x} channels in {groups} group(s), but a weight for {w} per group")


_conv_cases = [
    case(normal(2, 2, 5), normal(3, 2, 3)),
    case(normal(1, 2, 6), normal(2, 1, 2), strides=2, padding=1, dilation=2, groups=2),
    case(normal(2, 1, 4, 5), normal(2, 1, 2, 3), padding="same", strides=(1, 2)),
    case(normal(1, 2, 4, 4), normal(4, 1, 3, 2), padding=((1, 0), (0, 2)), groups=2),
    case(normal(1, 1, 3, 3, 3), normal(2, 1, 2, 2, 2)),
    case(complex_normal(1, 1, 4), complex_normal(1, 1, 2)),
]


@bilinear(kernel=None, numpy=(), samples=_conv_cases)
def conv(x, w, /, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, groups=1):
    """Convolution as in neural networks (a correlation: the kernel is not reversed) over one to three spatial axes.

    x: shape (batch, channels, *space). w: shape (out, channels / groups, *kernel). strides: steps from one position of the
    kernel to the next; dilation: steps between its elements; ints, or one per axis. padding: zeros added around x: an int,
    one entry (int or (before, after)) per axis, "valid" for none, "same" for as many positions as x has elements, divided by
    strides (of an odd number, the larger part comes after). groups: the channels are split into so many groups, each with its
    own part of the `out` kernels. Returns shape (batch, out, *positions) of the promoted dtype. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), padding="same")
    array([[[2., 3., 3., 2.]]])
    """


@bilinear(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 3, 3), normal(3, 2, 3), space=(5,)),
        case(normal(1, 2, 3), normal(2, 1, 2), space=(6,), strides=2, padding=1, dilation=2, groups=2),
        case(normal(1, 2, 2, 2), normal(2, 1, 2, 2), space=(3, 4), strides=(1, 2)),
    ],
)
def conv_input(y, w, /, space, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, groups=1):
    """The transpose of `conv` in its input (a "transposed convolution"): each element of y lays down a scaled kernel.

    y: shape (batch, out, *positions), as `conv` would give for an input of these `space` lengths and the other parameters.
    w: shape (out, channels / groups, *kernel). Returns shape (batch, channels, *space). Raises ShapeError.
    """


@bilinear(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 2, 5), normal(2, 3, 3), kernel=(3,)),
        case(normal(1, 2, 6), normal(1, 2, 3), kernel=(2,), strides=2, padding=1, dilation=2, groups=2),
        case(normal(1, 2, 3, 4), normal(1, 1, 2, 2), kernel=(2, 2), strides=(1, 2)),
    ],
)
def conv_weight(x, y, /, kernel, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, groups=1):
    """The transpose of `conv` in its weight: how the windows of x go with y, summed over batch and positions.

    x: shape (batch, channels, *space). y: shape (batch, out, *positions), as `conv` would give for a kernel of these lengths
    and the other parameters. Returns shape (out, channels / groups, *kernel). Raises ShapeError.
    """


# ---------------------------------------------------------------------- shapes
@conv.rule("shape")
def conv_shape(x, w, strides=1, padding="valid", dilation=1, groups=1):
    _check_axes("conv", x, w)
    _check_channels("conv", x.shape[1], w.shape[1], w.shape[0], groups)
    *_, out = geometry("conv", x.shape[2:], w.shape[2:], strides, padding, dilation)
    return Aval((x.shape[0], w.shape[0], *out), np.result_type(x.dtype, w.dtype))


@conv_input.rule("shape")
def conv_input_shape(y, w, space, strides=1, padding="valid", dilation=1, groups=1):
    _check_axes("conv_input", y, w)
    _check_channels("conv_input", None, w.shape[1], w.shape[0], groups)
    *_, out = geometry("conv_input", space, w.shape[2:], strides, padding, dilation)
    if y.shape[1:] != (w.shape[0], *out):
        raise ShapeError(
            f"conv_input: {describe_shape(y)} misfits {describe_shape(w)} over {list(space)}, which give {[w.shape[0], *out]}"
        )
    return Aval((y.shape[0], w.shape[1] * groups, *space), np.result_type(y.dtype, w.dtype))


@conv_weight.rule("shape")
def conv_weight_shape(x, y, kernel, strides=1, padding="valid", dilation=1, groups=1):
    _check_axes("conv_weight", x, y)
    _check_channels("conv_weight", x.shape[1], None, y.shape[1], groups)
    *_, out = geometry("conv_weight", x.shape[2:], kernel, strides, padding, dilation)
    if y.shape[0] != x.shape[0] or y.shape[2:] != out:
        raise ShapeError(
            f"conv_weight: {describe_shape(y)} is no result for {describe_shape(x)} and a kernel of {list(kernel)}"
        )
    return Aval((y.shape[1], x.shape[1] // groups, *kernel), np.result_type(x.dtype, y.dtype))


# ---------------------------------------------------------------------- derivatives
def _explicit(x, w, groups=1, **params):
    """The parameters with the padding spelled out, for the two other operations."""
    strides, padding, dilation, _ = geometry("conv", shape_of(x)[2:], shape_of(w)[2:], **params)
    return {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}


def _filled_in(strides=1, padding="valid", dilation=1, groups=1):
    return {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}


conv.rule("transpose")([
    lambda ct, y, x, w, **p: conv_input(ct, w, space=shape_of(x)[2:], **_explicit(x, w, **_filled_in(**p))),
    lambda ct, y, x, w, **p: conv_weight(x, ct, kernel=shape_of(w)[2:], **_explicit(x, w, **_filled_in(**p))),
])  # fmt: skip
conv_input.rule("transpose")([
    lambda ct, x, y, w, space, **p: conv(ct, w, **p),
    lambda ct, x, y, w, space, **p: conv_weight(ct, y, kernel=shape_of(w)[2:], **p),
])  # fmt: skip
conv_weight.rule("transpose")([
    lambda ct, w, x, y, kernel, **p: conv_input(y, ct, space=shape_of(x)[2:], **p),
    lambda ct, w, x, y, kernel, **p: conv(x, ct, **p),
])  # fmt: skip


# ---------------------------------------------------------------------- lanes
def _into_channels(x, size):
    """Lanes (L, batch, channels, …) as (batch, L·channels, …)."""
    x = moveaxis(x, 0, 1)
    return reshape(x, shape=(shape_of(x)[0], size * shape_of(x)[2], *shape_of(x)[3:]))


def _from_channels(y, size):
    batch, channels, *rest = shape_of(y)
    return moveaxis(reshape(y, shape=(batch, size, channels // size, *rest)), 1, 0)


def _merged_axes(w):
    """The first axis and the lanes as one."""
    return reshape(w, shape=(-1 if 0 not in shape_of(w) else 0, *shape_of(w)[2:]))


def _declare_batch(op, weight):
    """Lanes of the first argument alone lie in its batch axis; else they are groups of channels. weight: whether the second
    argument is a weight (of `conv` and `conv_input`); for `conv_weight` the result is one."""

    @op.rule("batch")
    def batch(size, xs, batched, groups=1, **params):
        a, b = xs
        lane = lambda x, b: Aval(shape_of(x)[1:], x.dtype) if b else aval(x)
        result = infer(op, [lane(x, b) for x, b in zip(xs, batched)], {"groups": groups, **params})
        if not size or 0 in result.shape:
            return zeros_like(a if batched[0] else b, dtype=result.dtype, shape=(size, *result.shape))
        if weight and not batched[1]:
            y = op(_merged_axes(a), b, groups=groups, **params)
            return reshape(y, shape=(size, *result.shape))
        if op is conv and not batched[0] and groups == 1:  # more kernels over one input
            return _from_channels(op(a, _merged_axes(b), **params), size)
        a, b = (x if known else broadcast_to(x, shape=(size, *shape_of(x))) for x, known in zip(xs, batched))
        y = op(_into_channels(a, size), _merged_axes(b) if weight else _into_channels(b, size), groups=size * groups, **params)
        return _from_channels(y, size) if weight else reshape(y, shape=(size, *result.shape))


_declare_batch(conv, weight=True)
_declare_batch(conv_input, weight=True)
_declare_batch(conv_weight, weight=False)


# ---------------------------------------------------------------------- what they read
def _padded(x, padding, back=False):
    """x with zeros around its space, or (back) without what lies around."""
    lengths = [(before, n if back else n + before + after) for n, (before, after) in zip(shape_of(x)[2:], padding)]
    if back:
        cut = [Slice((before, n - after, None)) for n, (before, after) in zip(shape_of(x)[2:], padding)]
        return index(x, spec=(Slice((None,) * 3), Slice((None,) * 3), *cut))
    wide = zeros_like(x, shape=(*shape_of(x)[:2], *[n for _, n in lengths]))
    inside = [Slice((before, before + n, None)) for n, (before, _) in zip(shape_of(x)[2:], padding)]
    return index_set(wide, x, spec=(Slice((None,) * 3), Slice((None,) * 3), *inside))


def _seen_by(x, kernel, strides, padding, dilation, groups):
    """The windows of x: (batch, groups, channels of a group, *kernel, *positions)."""
    strides, padding, dilation, _ = geometry("conv", shape_of(x)[2:], kernel, strides, padding, dilation)
    seen = sliding_windows(_padded(x, padding), window=kernel, strides=strides, dilation=dilation)
    return reshape(seen, shape=(shape_of(x)[0], groups, shape_of(x)[1] // groups, *shape_of(seen)[2:]))


def _to_each(x, axis, count, shape):
    """A sum over an axis as the value of all `count` positions there, in another shape."""
    x = expand_dims(x, axis)
    return reshape(broadcast_to(x, shape=(*shape_of(x)[:axis], count, *shape_of(x)[axis + 1 :])), shape=shape)


@conv.rule("depends")
def conv_depends(x, w, strides=1, padding="valid", dilation=1, groups=1):
    """All of a window and of its group's channels; all of a kernel."""
    kernel, out = shape_of(w)[2:], shape_of(w)[0]
    seen = _seen_by(x, kernel, strides, padding, dilation, groups)
    count, places = len(kernel), shape_of(seen)[3 + len(kernel) :]
    read = sum(seen, axis=tuple(range(2, 3 + count)))
    weights = sum(w, axis=tuple(range(1, 2 + count)))
    shape = (shape_of(x)[0], out, *places)
    return add(_to_each(read, 2, out // groups, shape), reshape(weights, shape=(out, *(1,) * count)))


@conv_input.rule("depends")
def conv_input_depends(y, w, space, strides=1, padding="valid", dilation=1, groups=1):
    (batch, out, *places), (_, channels, *kernel) = shape_of(y), shape_of(w)
    count = len(kernel)
    strides, padding, dilation, _ = geometry("conv_input", space, kernel, strides, padding, dilation)
    laid = sum(reshape(y, shape=(batch, groups, out // groups, *places)), axis=2)
    laid = reshape(laid, shape=(batch, groups, *(1,) * count, *places))
    laid = broadcast_to(laid, shape=(batch, groups, *kernel, *places))
    wide = tuple(n + before + after for n, (before, after) in zip(space, padding))
    laid = _padded(overlap_add(laid, space=wide, strides=strides, dilation=dilation), padding, back=True)
    weights = sum(reshape(w, shape=(groups, out // groups, channels, *kernel)), axis=(1, *range(3, 3 + count)))
    shape = (batch, channels * groups, *space)
    return add(_to_each(laid, 2, channels, shape), reshape(weights, shape=(channels * groups, *(1,) * count)))


@conv_weight.rule("depends")
def conv_weight_depends(x, y, kernel, strides=1, padding="valid", dilation=1, groups=1):
    kernel, out = tuple(kernel), shape_of(y)[1]
    count = len(kernel)
    seen = sum(_seen_by(x, kernel, strides, padding, dilation, groups), axis=(0, *range(3 + count, 3 + 2 * count)))
    results = sum(y, axis=(0, *range(2, 2 + count)))
    shape = (out, shape_of(x)[1] // groups, *kernel)
    return add(_to_each(seen, 1, out // groups, shape), reshape(results, shape=(out, *(1,) * (count + 1))))
