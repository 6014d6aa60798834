"""Rearrangements: flips, turns, rolls, repetitions, triangles, diagonals. All linear, by indexing."""

import math
from typing import Any

import numpy as np

from ...dispatch import ShapeError, describe, isa, snapshot
from ..array_libraries import asarray_like, host_copy
from ..avals import is_number, ndim_of, normalize_axis, reduced_axes, shape_of
from ..card import composite
from ..samples import case, complex_normal, normal
from .arithmetic import subtract
from .at import at
from .compare import greater_equal, less_equal, where
from .create import arange_like, zeros_like
from .indexing import getitem, take
from .reduce import sum
from .shape import broadcast_to, concatenate, moveaxis, ravel, reshape, size_of, swapaxes


def along(axis, *indices):
    """An index that applies `indices` at an axis and takes everything before it."""
    return (*(slice(None),) * axis, *indices)


def array_like(values, x):
    """Numbers and lists given as a parameter, as an array on x's device; arrays as they are."""
    return asarray_like(values, x) if is_number(values) or isa(values, (list, tuple, np.generic)) else values


@composite(samples=[case(complex_normal(2, 3)), case(normal(2, 3), axis=1), case(normal(2, 3, 2), axis=(0, -1))])
def flip(x, /, axis=None):
    """x with the order of its elements reversed along an axis, several, or (None) all. Raises ShapeError."""
    axes = reduced_axes("flip", x, axis)
    back, whole = slice(None, None, -1), slice(None)
    return getitem(x, tuple(back if a in axes else whole for a in range(ndim_of(x))))


@composite(samples=[case(normal(2, 3)), case(normal(2, 3, 2))])
def flipud(x, /):
    """x with the order of its rows (axis 0) reversed."""
    return flip(x, axis=0)


@composite(samples=[case(normal(2, 3)), case(normal(2, 3, 2))])
def fliplr(x, /):
    """x with the order of its columns (axis 1) reversed."""
    return flip(x, axis=1)


@composite(samples=[case(normal(2, 3)), case(normal(3, 2, 2), k=3, axes=(0, 2)), case(normal(2, 3), k=2)])
def rot90(x, /, k=1, axes: Any = (0, 1)):
    """x turned by k quarter turns in the plane of two axes, from the first towards the second."""
    a, b = (normalize_axis("rot90", axis, ndim_of(x)) for axis in axes)
    if a == b:
        raise ShapeError(f"rot90: axes {axes} name one axis twice")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, axis=(a, b))
    return swapaxes(flip(x, axis=b), a, b) if turns == 1 else flip(swapaxes(x, a, b), axis=b)


@composite(samples=[case(normal(5), 2), case(normal(2, 3), 1, axis=1), case(normal(2, 3), (1, -1), axis=(0, 1))])
def roll(x, /, shift, axis=None):
    """x with its elements moved on by `shift` places along an axis, those pushed out coming in at the front.

    axis: None moves within x flattened. shift, axis: ints, or tuples of equal length. Raises ShapeError.
    """
    if axis is None:
        return reshape(roll(ravel(x), shift, axis=0), shape=shape_of(x))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(axes) == 1 and len(shifts) > 1:
        axes = tuple(axes) * len(shifts)
    if len(axes) != len(shifts):
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for a, places in zip(axes, shifts, strict=True):
        a = normalize_axis("roll", a, ndim_of(x))
        n = shape_of(x)[a]
        if n and places % n:
            cut = n - places % n
            x = concatenate([getitem(x, along(a, slice(cut, None))), getitem(x, along(a, slice(cut)))], axis=a)
    return snapshot(x)


@composite(samples=[case(normal(3), 2), case(normal(2, 3), (2, 1, 2)), case(normal(2, 3), (2,))])
def tile(x, /, reps):
    """x repeated as a whole: reps[i] times along axis i, aligned from the last axis."""
    reps = tuple(reps) if isa(reps, (tuple, list, np.ndarray)) else (reps,)
    ndim = max(len(reps), ndim_of(x))
    reps = (1,) * (ndim - len(reps)) + tuple(int(r) for r in reps)
    shape = (1,) * (ndim - ndim_of(x)) + shape_of(x)
    pairs = list(zip(reps, shape, strict=True))
    apart = reshape(x, shape=tuple(n for s in shape for n in (1, s)))
    wide = broadcast_to(apart, shape=tuple(n for pair in pairs for n in pair))
    return snapshot(reshape(wide, shape=tuple(r * s for r, s in pairs)))


@composite(samples=[case(normal(3), 2), case(normal(2, 3), 2, axis=1), case(normal(2, 3), (1, 2), axis=0)])
def repeat(x, /, repeats, axis=None):
    """Each element repeated: `repeats` times, or one count per position along the axis (None: of x flattened)."""
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis("repeat", axis, ndim_of(x))
    n = shape_of(x)[axis]
    counts = np.asarray(repeats if isa(repeats, (int, list, tuple)) else host_copy(repeats))
    try:
        counts = np.broadcast_to(counts if counts.size else counts.astype(np.intp), (n,))
    except ValueError:
        raise ShapeError(f"repeat: {np.size(repeats)} counts for the {n} places of axis {axis} of {describe(x)}") from None
    return take(x, asarray_like(np.repeat(np.arange(n), counts), x), axis=axis)


@composite(samples=[case(normal(3), (2, 4)), case(normal(2, 3), 4), case(normal(2, 3), (2, 0))])
def resize(x, /, new_shape):
    """The elements of x in row-major order in a new shape, from the start again when they run out. Raises ShapeError."""
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (int(new_shape),)
    if min(shape, default=0) < 0:
        raise ShapeError(f"resize: lengths must not be negative: {list(shape)}")
    n, size = size_of(x), math.prod(shape)
    if not n:
        return zeros_like(x, shape=shape)
    return reshape(take(ravel(x), asarray_like(np.arange(size) % n, x)), shape=shape)


@composite(samples=[case(normal(2, 3, 4), 2), case(normal(2, 3, 4), 0, start=3)])
def rollaxis(x, /, axis, start=0):
    """x with an axis moved before the place `start`; `moveaxis` says the same more simply."""
    ndim = ndim_of(x)
    axis = normalize_axis("rollaxis", axis, ndim)
    start = start + ndim if start < 0 else start
    if not 0 <= start <= ndim:
        raise ShapeError(f"rollaxis: start {start} is out of range for an array with {ndim} axes")
    return moveaxis(x, axis, start - 1 if axis < start else start)


@composite(samples=[case(normal(3, 3)), case(normal(2, 3, 4), k=1), case(normal(3, 2), k=-1)])
def tril(x, /, k=0):
    """The lower triangle of the last two axes, zeros above the k-th diagonal."""
    return _triangle("tril", x, lambda i, j: less_equal(subtract(j, i), k))


@composite(samples=[case(normal(3, 3)), case(normal(2, 3, 4), k=1), case(normal(3, 2), k=-1)])
def triu(x, /, k=0):
    """The upper triangle of the last two axes, zeros below the k-th diagonal."""
    return _triangle("triu", x, lambda i, j: greater_equal(subtract(j, i), k))


def _triangle(name, x, keep):
    if ndim_of(x) < 2:
        raise ShapeError(f"{name}: {describe(x)} has fewer than two axes")
    n, m = shape_of(x)[-2:]
    rows, columns = reshape(arange_like(x, n), shape=(n, 1)), arange_like(x, m)
    return where(keep(rows, columns), x, zeros_like(x, shape=()))


@composite(samples=[case(normal(3, 4)), case(normal(3, 4), offset=-1), case(normal(2, 3, 4), offset=1, axis1=0, axis2=2)])
def diagonal(x, /, offset=0, axis1=0, axis2=1):
    """The elements whose positions on two axes differ by `offset`, as a new last axis; those axes are dropped."""
    a, b = (normalize_axis("diagonal", axis, ndim_of(x)) for axis in (axis1, axis2))
    if a == b:
        raise ShapeError("diagonal: axis1 and axis2 are the same axis")
    x = moveaxis(x, (a, b), (-2, -1))
    n, m = shape_of(x)[-2:]
    rows = np.arange(max(0, min(n + min(offset, 0), m - max(offset, 0)))) - min(offset, 0)
    return getitem(x, (Ellipsis, asarray_like(rows, x), asarray_like(rows + offset, x)))


@composite(samples=[case(normal(3, 3)), case(normal(3, 4), offset=1), case(normal(2, 3, 3), axis1=1, axis2=2)])
def trace(x, /, offset=0, axis1=0, axis2=1, dtype=None):
    """Sum of a diagonal of two axes."""
    return sum(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1, dtype=dtype)


@composite(samples=[case(normal(3)), case(normal(3), k=-1), case(normal(3, 4), k=1)])
def diag(x, /, k=0):
    """A vector as the k-th diagonal of a square matrix, or the k-th diagonal of a matrix."""
    if ndim_of(x) == 2:
        return diagonal(x, offset=k)
    if ndim_of(x) != 1:
        raise ShapeError(f"diag: {describe(x)} has neither one axis nor two")
    n = shape_of(x)[0] + abs(k)
    rows = np.arange(shape_of(x)[0]) + max(-k, 0)
    return at(zeros_like(x, shape=(n, n)), (asarray_like(rows, x), asarray_like(rows + k, x))).add(x)


@composite(samples=[case(normal(3)), case(normal(2, 2), k=-1)])
def diagflat(x, /, k=0):
    """x flattened as the k-th diagonal of a square matrix."""
    return diag(ravel(x), k=k)
