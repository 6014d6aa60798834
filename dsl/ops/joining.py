"""Splitting, stacking and editing along an axis: parts of an array, arrays side by side, elements put in or left out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..avals import ndim_of, normalize_axis, shape_of
from ..card import composite
from ..samples import case, complex_normal, integers, normal, sequence_case
from .create import asarray, beside
from .indexing import getitem
from .rearrange import along
from .shape import concatenate, expand_dims, reshape

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


# ---------------------------------------------------------------------- parts
def _is_count(sections):
    return isa(sections, (int, np.integer)) or (not isinstance(sections, (list, tuple)) and not ndim_of(sections))


@composite(
    samples=[case(normal(6), 3), case(normal(5), 3), case(normal(2, 5), (2, 4), axis=1), case(integers(3), (1, 7, 2))],
)
def array_split(x, /, indices_or_sections, axis=0):
    """The parts of x along an axis, a tuple.

    indices_or_sections: a number of parts, the first ones longer by 1 if need be; or the places at which parts begin.
    Raises ShapeError.
    """
    axis = normalize_axis("array_split", axis, ndim_of(x))
    n = shape_of(x)[axis]
    if _is_count(indices_or_sections):
        parts = int(indices_or_sections)
        if parts < 1:
            raise ShapeError(f"array_split: the number of parts must be at least 1, not {parts}")
        short, longer = divmod(n, parts)
        bounds = [0, *itertools.accumulate([short + 1] * longer + [short] * (parts - longer))]
    else:
        bounds = [0, *[int(i) for i in indices_or_sections], n]
    return tuple(getitem(x, along(axis, slice(a, b))) for a, b in itertools.pairwise(bounds))


def _split_points(name, x, parts, axis):
    if _is_count(parts) and (int(parts) < 1 or shape_of(x)[axis] % int(parts)):
        raise ShapeError(
            f"{name}: axis {axis} of {describe(x)} has no {parts} equal parts; use polyad.array_split for unequal ones"
        )
    return array_split(x, parts, axis=axis)


@composite(samples=[case(normal(6), 3), case(normal(2, 5), (2, 4), axis=1), case(complex_normal(4, 2), 2)])
def split(x, /, indices_or_sections, axis=0):
    """The parts of x along an axis, a tuple.

    indices_or_sections: a number of equal parts, or the places at which parts begin. Raises ShapeError.
    """
    return _split_points("split", x, indices_or_sections, normalize_axis("split", axis, ndim_of(x)))


@composite(samples=[case(normal(4), 2), case(normal(2, 4), (1, 3))])
def hsplit(x, /, indices_or_sections):
    """The parts of x along axis 1 (of a vector: along its axis), a tuple. Raises ShapeError."""
    return _split_points("hsplit", x, indices_or_sections, normalize_axis("hsplit", min(ndim_of(x) - 1, 1), ndim_of(x)))


@composite(samples=[case(normal(4, 2), 2), case(normal(3, 2), (1,))])
def vsplit(x, /, indices_or_sections):
    """The parts of x along axis 0, a tuple. Raises ShapeError for fewer than two axes."""
    _at_least("vsplit", x, 2)
    return _split_points("vsplit", x, indices_or_sections, 0)


@composite(samples=[case(normal(1, 2, 4), 2), case(normal(2, 2, 3), (1,))])
def dsplit(x, /, indices_or_sections):
    """The parts of x along axis 2, a tuple. Raises ShapeError for fewer than three axes."""
    _at_least("dsplit", x, 3)
    return _split_points("dsplit", x, indices_or_sections, 2)


def _at_least(name, x, ndim):
    if ndim_of(x) < ndim:
        raise ShapeError(f"{name}: {describe(x)} has fewer than {ndim} axes")


# ---------------------------------------------------------------------- side by side
def _one_axis(x):
    return expand_dims(x, 0) if not ndim_of(x) else x


def _two_axes(x):
    return expand_dims(_one_axis(x), 0) if ndim_of(x) < 2 else x


def _three_axes(x):
    return expand_dims(expand_dims(_one_axis(x), 0), -1) if ndim_of(x) < 2 else expand_dims(x, -1) if ndim_of(x) == 2 else x


def _each(widen, arrays):
    """One array alone, several in a tuple; numbers become arrays."""
    wide = tuple(widen(asarray(x)) for x in arrays)
    return wide[0] if len(wide) == 1 else wide


@composite(samples=[case(normal()), case(normal(2, 2), normal())])
def atleast_1d(*arrays):
    """Arrays with at least one axis: a number becomes a vector of one element. Several give a tuple. Raises DTypeError."""
    return _each(_one_axis, arrays)


@composite(samples=[case(normal()), case(normal(2), normal(1, 2, 1))])
def atleast_2d(*arrays):
    """Arrays with at least two axes, new ones in front: a vector becomes a row. Several give a tuple. Raises DTypeError."""
    return _each(_two_axes, arrays)


@composite(samples=[case(normal()), case(normal(2), normal(2, 3), normal(1, 2, 1))])
def atleast_3d(*arrays):
    """Arrays with at least three axes: shape (n,) becomes (1, n, 1), (n, m) becomes (n, m, 1). Raises DTypeError."""
    return _each(_three_axes, arrays)


@composite(
    sequence=True,
    samples=[
        sequence_case(normal(2), normal(3)), sequence_case(normal(2, 1), normal(2, 2)),
        sequence_case(normal(), complex_normal()),
    ],
)  # fmt: skip
def hstack(arrays, /):
    """Arrays joined along axis 1, vectors along their axis. arrays: sequence. Raises ShapeError."""


def _together(arrays):
    """The arrays, numbers among them as arrays where the others lie."""
    example = next((x for x in arrays if ndim_of(x)), arrays[0])
    return [beside(x, example) for x in arrays]


def hstack_body(*arrays):
    wide = [_one_axis(x) for x in _together(arrays)]
    return concatenate(wide, axis=0 if ndim_of(wide[0]) == 1 else 1)


hstack.card.body = hstack_body


@composite(sequence=True, samples=[sequence_case(normal(2), normal(2)), sequence_case(normal(2, 2), normal(1, 2))])
def vstack(arrays, /):
    """Arrays joined along axis 0, vectors being rows. arrays: sequence. Raises ShapeError."""


vstack.card.body = lambda *arrays: concatenate([_two_axes(x) for x in _together(arrays)], axis=0)


@composite(sequence=True, samples=[sequence_case(normal(2), normal(2)), sequence_case(normal(2, 2), normal(2, 2))])
def dstack(arrays, /):
    """Arrays joined along axis 2, which vectors and matrices get first. arrays: sequence. Raises ShapeError."""


dstack.card.body = lambda *arrays: concatenate([_three_axes(x) for x in _together(arrays)], axis=2)


@composite(sequence=True, samples=[sequence_case(normal(2), normal(2)), sequence_case(normal(2), normal(2, 2))])
def column_stack(arrays, /):
    """Vectors as the columns of a matrix, matrices side by side. arrays: sequence. Raises ShapeError."""


column_stack.card.body = lambda *arrays: concatenate(
    [x if ndim_of(x) > 1 else reshape(x, shape=(-1, 1)) for x in _together(arrays)], axis=1
)


def block(arrays: Any) -> AnyArray:
    """An array from nested lists of blocks: the innermost lists are joined along the last axis, those around them along
    the axis before it, and so on.

    arrays: array, or lists nested equally deep, not empty. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.block([[np.eye(1), np.zeros((1, 1))], [np.ones((1, 2))]])
    array([[1., 0.],
           [1., 1.]])
    """
    depth = _depth(arrays)
    ndim = max(depth, *[ndim_of(x) for x in _blocks(arrays)])
    return _joined(arrays, depth, ndim)


def _depth(arrays):
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ShapeError("block: lists must be nested equally deep, and not be empty")
    return 1 + depths.pop()


def _blocks(arrays):
    return [x for part in arrays for x in _blocks(part)] if isinstance(arrays, list) else [asarray(arrays)]


def _joined(arrays, depth, ndim):
    if not isinstance(arrays, list):
        x = asarray(arrays)
        return reshape(x, shape=(1,) * (ndim - ndim_of(x)) + shape_of(x))
    return concatenate([_joined(part, depth - 1, ndim) for part in arrays], axis=-depth)
