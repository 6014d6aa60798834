"""Reductions of sharded arrays: each rank reduces its block, and the ranks combine what they have of axes that are cut.

Sums stay partial, to be added up where they are used, and once; a sum of all elements is one number at once, on every rank.
"""

import builtins

import numpy as np

from ...dsl import (
    all,
    any,
    argmax,
    argmin,
    astype,
    max,
    min,
    pad,
    prod,
    reduction_family,
    reshape,
    sum,
    take_along_axis,
    zeros,
)
from ...dsl.avals import normalize_axis, reduced_axes, shape_of
from .array import Sharded, made, moved_to
from .chunks import one_each
from .layout import Layout
from .moves import Cut, extreme_of_ranks, gathered, product_of_ranks
from .partition_spec import PartitionSpec
from .propagate import Pattern, run

any_of, sum_of = builtins.any, builtins.sum


@reduction_family.method
def sharded_reduction(op, x: Sharded, /, axis=None, **params):
    """On the block, and then between the ranks."""
    axes, shape = reduced_axes(op.__name__, x, axis), []
    keepdims = params.get("keepdims", False)
    letters = tuple(range(x.ndim))
    kept = [k for k in letters if keepdims or k not in axes]
    shape = [1 if k in axes else x.shape[k] for k in kept]
    output = tuple([None if k in axes else k for k in kept])
    if op is sum:
        linear = "together" if params.get("dtype") is None else ""
        pattern = Pattern((letters,), output, combine="sum", linear=linear)
        y = run("sum", pattern, (x,), lambda block: sum(block, axis=axes, **params), shape)
        return y if shape else whole_of(y, "sum")
    return combined(op, x, axes, output, shape, params)


def combined(op, x, axes, output, shape, params):
    """Of reductions that are no sums what all ranks have, along axes that are cut."""
    name = f"{op.__name__} of Sharded arrays"
    x = moved_to(x, x.layout.reduced(()), name)
    if 0 in x.shape and op in (max, min):
        op(zeros(x.shape, dtype=x.dtype), axis=axes, **params)  # which says what is wrong, if it is
    block = x.block
    if op in (max, min) and 0 in [shape_of(block)[k] for k in axes]:
        block = pad(
            block, [(0, int(k in axes and n == 0)) for k, n in enumerate(shape_of(block))], constant_values=least(op, x)
        )
    y = op(block, axis=axes, **params)
    for k in axes:
        part = x.layout.parts[k]
        if part and x.layout.along(part).size > 1:
            comm = x.layout.along(part)
            y = BETWEEN[op](y, one_each(comm, name))
    parts = [() if letter is None else x.layout.parts[letter] for letter in output]
    chunks = [(1,) if letter is None else x.chunks[letter] for letter in output]
    return y if not shape else made(y, Layout(x.mesh, shape, PartitionSpec(*parts), chunks))


def least(op, x):
    """Return what changes no extremum: the value for ranks that have no element."""
    kind = x.dtype.kind
    if kind == "b":
        return op is min
    if kind == "f":
        return -np.inf if op is max else np.inf
    return np.iinfo(x.dtype).min if op is max else np.iinfo(x.dtype).max


def _truths(largest):
    return lambda y, chunks: astype(extreme_of_ranks(astype(y, dtype=np.int8), chunks, largest), dtype=np.bool_)


BETWEEN = {
    max: lambda y, chunks: extreme_of_ranks(y, chunks, True), min: lambda y, chunks: extreme_of_ranks(y, chunks, False),
    prod: product_of_ranks, any: _truths(True), all: _truths(False),
}  # fmt: skip


def whole_of(x, name):
    """A Sharded array as a plain one on every rank."""
    return moved_to(x, Layout(x.mesh, x.shape), f"{name} of Sharded arrays").block


# ---------------------------------------------------------------------- places of extrema
def _place(op, extreme, x, axis, keepdims):
    """The first place of the extremum along one axis, or in the order of all elements."""
    if axis is None:
        if any_of(x.layout.parts[1:]) or keepdims:
            return NotImplemented
        x, axis = reshape(x, (x.size,)), 0
    axis = normalize_axis(op.__name__, axis, x.ndim)
    part = x.layout.parts[axis]
    if not part or x.layout.along(part).size == 1 or 0 in x.shape:
        layout = x.layout.cut(axis, ())
        x = moved_to(x, layout, f"{op.__name__} of Sharded arrays")
        output = tuple([None if k == axis else k for k in range(x.ndim) if keepdims or k != axis])
        shape = [1 if k is None else x.shape[k] for k in output]
        pattern = Pattern((tuple(range(x.ndim)),), output, whole=frozenset({axis}))
        y = run(op.__name__, pattern, (x,), lambda block: op(block, axis=axis, keepdims=keepdims), shape)
        return y if shape else whole_of(y, op.__name__)
    comm, name = x.layout.along(part), f"{op.__name__} of Sharded arrays"
    ranks = Cut(0, one_each(comm, name))
    x = moved_to(x, x.layout.reduced(()), name)
    block = x.block
    if shape_of(block)[axis] == 0:
        block = pad(block, [(0, int(k == axis)) for k in range(x.ndim)], constant_values=least(extreme, x))
    values = gathered(extreme(block, axis=axis, keepdims=keepdims)[None], ranks)
    places = gathered((op(block, axis=axis, keepdims=keepdims) + x.start[axis])[None], ranks)
    if 0 in x.chunks[axis]:  # nothing of theirs counts, not even what equals the extremum
        having = [k for k, n in enumerate(x.chunks[axis]) if n]
        values, places = values[having], places[having]
    y = take_along_axis(places, op(values, axis=0, keepdims=True), axis=0)[0]
    kept = [k for k in range(x.ndim) if keepdims or k != axis]
    if not kept:
        return y
    parts = [() if k == axis else x.layout.parts[k] for k in kept]
    chunks = [(1,) if k == axis else x.chunks[k] for k in kept]
    return made(y, Layout(x.mesh, [sum_of(lengths) for lengths in chunks], PartitionSpec(*parts), chunks))


@argmax.method
def sharded_argmax(x: Sharded, /, axis=None, keepdims=False):
    return _place(argmax, max, x, axis, keepdims)


@argmin.method
def sharded_argmin(x: Sharded, /, axis=None, keepdims=False):
    return _place(argmin, min, x, axis, keepdims)
