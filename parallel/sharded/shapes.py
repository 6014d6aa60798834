"""Operations that change the shape of sharded arrays: they move elements between ranks only where the chunks do not fit."""

import math

import numpy as np

from ...dispatch import Array, isa
from ...dsl import broadcast_to, concatenate, full_permutation, reshape, transpose
from ...dsl.avals import normalize_axis, shape_of
from .array import Sharded, made, mesh_of, moved_to
from .chunks import balanced, starts
from .layout import Layout
from .partition_spec import PartitionSpec
from .propagate import Pattern, batch_letters, run


@transpose.method
def transpose_sharded(x: Sharded, /, axes=None):
    order = full_permutation("transpose", axes, x.ndim)
    pattern = Pattern((tuple(range(x.ndim)),), tuple(order), linear="together")
    shape = [x.shape[k] for k in order]
    return run("transpose", pattern, (x,), lambda block: transpose(block, axes=order), shape)


@broadcast_to.method
def broadcast_sharded(x: Sharded, /, shape):
    shape = (shape,) if isa(shape, int) else tuple(shape)
    np.broadcast_to(np.zeros(()), shape)
    first = len(shape) - x.ndim
    if first < 0 or any([n not in (1, m) for n, m in zip(x.shape, shape[first:], strict=True)]):
        return broadcast_to(np.broadcast_to(np.zeros(()), x.shape), shape)  # which says what does not fit
    letters = batch_letters(x.shape, shape)
    pattern = Pattern((letters,), (*[None] * first, *letters), linear="together")

    def spread(block):
        own = shape_of(block)
        local = [n if letter is None else own[k] for k, (n, letter) in enumerate(zip(shape[first:], letters, strict=True))]
        return broadcast_to(block, shape=(*shape[:first], *local))

    return run("broadcast_to", pattern, (x,), spread, shape)


# ---------------------------------------------------------------------- reshape
@reshape.method
def reshape_sharded(x: Sharded, /, shape, copy=None):
    """The first axis of a group of axes that become another group may be cut, at places that are the same in both."""
    shape = full_shape(x.shape, shape)
    if shape is None:
        return NotImplemented
    layout = x.layout
    fits = {}  # axis of x that may stay cut -> (elements of it for one of the axis that it becomes, that axis)
    for lead, inner, to, outer in groups(x.shape, shape) if x.size else ():
        fits[lead] = to, inner, outer
    for axis, part in enumerate(layout.parts):
        if part and (axis not in fits or not all(_becomes(layout.chunks[axis], *fits[axis][1:]))):
            layout = _recut(layout, axis, part, fits, shape)
    x = moved_to(x, layout, "reshape of Sharded arrays")
    parts, chunks = [()] * len(shape), [(n,) for n in shape]
    for axis, (to, inner, outer) in fits.items():
        if layout.parts[axis]:
            parts[to] = layout.parts[axis]
            chunks[to] = tuple([n * inner // outer for n in layout.chunks[axis]])
    result = Layout(x.mesh, shape, PartitionSpec(*parts, partial=layout.partial), chunks)
    return made(reshape(x.block, shape=result.block_shape), result)


def full_shape(own, shape):
    """The shape with -1 replaced; None where it does not fit."""
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    if list(shape).count(-1) == 1:
        rest = math.prod([n for n in shape if n != -1])
        if not rest or math.prod(own) % rest:
            return None
        shape = tuple([math.prod(own) // rest if n == -1 else n for n in shape])
    return tuple(map(int, shape)) if math.prod(own) == math.prod(shape) and min(shape, default=0) >= 0 else None


def groups(own, shape):
    """For each group of axes that becomes another of as many elements: its first axis longer than 1, how many elements lie
    within one of it, and the same of the other."""
    i = j = 0
    while i < len(own) and j < len(shape):
        first, to, elements, others = i, j, own[i], shape[j]
        i, j = i + 1, j + 1
        while elements != others:
            if elements < others:
                elements, i = elements * own[i], i + 1
            else:
                others, j = others * shape[j], j + 1
        if elements == 1:
            continue
        while own[first] == 1:
            first += 1
        while shape[to] == 1:
            to += 1
        yield first, elements // own[first], to, elements // shape[to]


def _becomes(chunks, inner, outer):
    """For each chunk whether it is whole ones of the other axis."""
    return [n * inner % outer == 0 for n in chunks]


def _recut(layout, axis, part, fits, shape):
    """Cut an axis at other places, or another axis instead, or none."""
    for other in sorted(fits, key=lambda k: (k != axis, k)):
        to, inner, outer = fits[other]
        if other != axis and layout.parts[other]:
            continue
        chunks = [n * outer for n in balanced(shape[to], layout.along(part).size)]
        if all([n % inner == 0 for n in chunks]):
            return layout.cut(axis, ()).cut(other, part, tuple([n // inner for n in chunks]))
    return layout.cut(axis, ())


# ---------------------------------------------------------------------- concatenate
def in_a_row(*xs, axis=0):
    """Along an axis that is cut each rank gets its chunk of all arrays in a row."""
    mesh_of(xs, "concatenate")
    if axis is None:
        return concatenate([reshape(x, shape=(-1,)) for x in xs], axis=0)
    ndim = len(shape_of(xs[0]))
    axis = normalize_axis("concatenate", axis, ndim)
    others = {(*shape_of(x)[:axis], *shape_of(x)[axis + 1 :]) for x in xs}
    if len(others) > 1 or any([len(shape_of(x)) != ndim for x in xs]):
        return concatenate([np.broadcast_to(np.zeros(()), shape_of(x)) for x in xs], axis=axis)  # which says what does not fit
    length = sum([shape_of(x)[axis] for x in xs])
    shape = (*shape_of(xs[0])[:axis], length, *shape_of(xs[0])[axis + 1 :])
    largest = max([x for x in xs if isinstance(x, Sharded)], key=lambda x: x.size)
    part = largest.layout.parts[axis]
    if part:
        count = largest.layout.along(part).size
        out = balanced(length, count)
        xs, first = list(xs), 0
        for k, x in enumerate(xs):
            n = shape_of(x)[axis]
            ends = [(max(a, first), min(a + m, first + n)) for a, m in zip(starts(out), out, strict=True)]
            lengths = tuple([max(b - a, 0) for a, b in ends])
            layout = x.layout if isinstance(x, Sharded) else Layout(largest.mesh, shape_of(x))
            layout = layout.reduced(()) if isinstance(x, Sharded) else layout
            held = next((k for k, each in enumerate(layout.parts) if set(each) & set(part)), None)
            layout = (layout.cut(held, ()) if held not in (None, axis) else layout).cut(axis, part, lengths)
            xs[k] = moved_to(x, layout, "concatenate of Sharded arrays") if isinstance(x, Sharded) else shard_to(x, layout)
            first += n
        return _side_by_side(xs, axis, shape, part, out)
    letters = tuple([None if k == axis else k for k in range(ndim)])
    pattern = Pattern((letters,) * len(xs), letters, linear="together")
    return run("concatenate", pattern, xs, lambda *blocks: concatenate(blocks, axis=axis), shape)


def shard_to(x, layout):
    """A plain array as a Sharded one."""
    return moved_to(made(x, Layout(layout.mesh, layout.shape)), layout, "concatenate of Sharded arrays")


def _side_by_side(xs, axis, shape, part, chunks):
    """The blocks beside each other, once the other axes lie alike."""
    letters = tuple([None if k == axis else k for k in range(len(shape))])
    ndim = len(shape)
    base = max(xs, key=lambda x: x.size).layout
    layouts = []
    for x in xs:
        layout = x.layout
        for k in range(ndim):
            if k != axis and (layout.parts[k], layout.chunks[k]) != (base.parts[k], base.chunks[k]):
                layout = layout.cut(k, ())
        for k in range(ndim):
            if k != axis and base.parts[k] and not layout.parts[k]:
                layout = layout.cut(k, base.parts[k], base.chunks[k])
        layouts.append(layout)
    blocks = [moved_to(x, layout, "concatenate of Sharded arrays").block for x, layout in zip(xs, layouts, strict=True)]
    parts = [part if letter is None else base.parts[letter] for letter in letters]
    cut = [chunks if letter is None else base.chunks[letter] for letter in letters]
    return made(concatenate(blocks, axis=axis), Layout(base.mesh, shape, PartitionSpec(*parts), cut))


@concatenate.method
def concatenate_sharded(x: Sharded, *xs: Array, axis=0):
    return in_a_row(x, *xs, axis=axis)


@concatenate.method
def concatenate_with_sharded(x: Array, y: Sharded, *xs: Array, axis=0):
    return in_a_row(x, y, *xs, axis=axis)


@concatenate.method
def concatenate_sharded_two(x: Sharded, y: Sharded, *xs: Array, axis=0):
    return in_a_row(x, y, *xs, axis=axis)
