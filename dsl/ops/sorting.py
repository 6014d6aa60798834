"""Orders: argsort, sort and its kin, and what follows places along an axis."""

import math
from typing import Any

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..avals import Aval, ndim_of, normalize_axis, shape_of
from ..card import composite, opaque
from ..samples import case, complex_normal, distinct, integers, normal, sequence_case
from .at import at
from .create import arange_like
from .indexing import getitem
from .shape import ravel, reshape

PLACE = np.dtype(np.intp)


@opaque(
    differentiable=False,
    samples=[
        case(distinct(5)), case(distinct(3, 4), axis=0), case(distinct(3, 4), axis=None),
        case(integers(6, high=3), stable=True), case(complex_normal(4)),
    ],
)  # fmt: skip
def argsort(x, /, axis: Any = -1, kind=None, stable=True, descending=False):
    """Places that put x in ascending (or descending) order along an axis (None: x flattened).

    Equal elements keep their order in any case; what is not a number comes last, or first in descending order. kind and
    stable are there for NumPy's spelling. Raises ShapeError.
    """


argsort.rule("shape")(
    lambda x, axis=-1, kind=None, stable=True, descending=False: Aval(_sorted_shape("argsort", x, axis), PLACE)
)


def _sorted_shape(name, x, axis):
    if axis is None:
        return (x.size,)
    normalize_axis(name, axis, x.ndim)
    return x.shape


@argsort.rule("batch")
def argsort_batch(size, xs, batched, axis=-1, kind=None, stable=True, descending=False):
    (x,) = xs
    lane = shape_of(x)[1:]
    if axis is None:
        return argsort(reshape(x, shape=(size, math.prod(lane))), axis=1, descending=descending)
    return argsort(x, axis=normalize_axis("argsort", axis, len(lane)) + 1, descending=descending)


@composite(
    samples=[
        case(distinct(5)), case(distinct(3, 4), axis=0), case(distinct(3, 4), axis=None), case(integers(6, high=3)),
        case(complex_normal(4)),
    ],
)  # fmt: skip
def sort(x, /, axis: Any = -1, kind=None, stable=True, descending=False):
    """x in ascending (or descending) order along an axis (None: x flattened). The derivative goes where the elements go.

    Parameters as for `argsort`; equal elements keep their order, and so do their derivatives. Raises ShapeError.
    """
    if axis is None:
        x, axis = ravel(x), 0
    if not ndim_of(x):
        raise ShapeError(f"sort: {describe(x)} has no axis to sort along")
    return take_along_axis(x, argsort(x, axis=axis, descending=descending), axis=axis)


@composite(samples=[case(distinct(4), (0, 1, 2, 3)), case(distinct(3, 2), 1, axis=0)])
def partition(x, /, kth, axis: Any = -1):
    """x rearranged so that the elements at the places `kth` stand where sorting would put them, none larger before them.

    kth: int or several. It is sorted as a whole along the axis, which is one such arrangement. Raises ShapeError.
    """
    _check_kth("partition", x, kth, axis)
    return sort(x, axis=axis)


@composite(differentiable=False, samples=[case(distinct(4), (0, 1, 2, 3)), case(distinct(3, 2), (0, 1, 2), axis=0)])
def argpartition(x, /, kth, axis: Any = -1):
    """Places of x's elements along an axis in the order of `partition`. Raises ShapeError."""
    _check_kth("argpartition", x, kth, axis)
    return argsort(x, axis=axis)


def _check_kth(name, x, kth, axis):
    n = math.prod(shape_of(x)) if axis is None else shape_of(x)[normalize_axis(name, axis, ndim_of(x))]
    for k in kth if isa(kth, (tuple, list, np.ndarray)) else (kth,):
        if not -n <= k < n:
            raise ShapeError(f"{name}: place {k} is out of range for {n} elements of {describe(x)}")


@composite(
    sequence=True, differentiable=False,
    samples=[
        sequence_case(integers(6, high=3), integers(6, high=3)),
        sequence_case(integers(2, 6, high=3), distinct(2, 6), integers(2, 6, high=2), axis=0),
    ],
)  # fmt: skip
def lexsort(keys, /, axis: Any = -1):
    """Places that sort by several keys, by the last one first.

    keys: sequence of arrays of one shape, or an array whose axis 0 they are. axis: along which to sort. Raises ShapeError.
    """


def lexsort_body(*keys, axis=-1):
    if len({shape_of(key) for key in keys}) != 1:
        raise ShapeError(f"lexsort: shapes differ: {', '.join(describe(key) for key in keys)}")
    order = argsort(keys[0], axis=axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis=axis), axis=axis), axis=axis)
    return order


lexsort.card.body = lexsort_body


# ---------------------------------------------------------------------- places along an axis
def _along_axis(name, x, indices, axis):
    """The index whose entries along an axis are `indices`, and along the others their own places."""
    if ndim_of(indices) != ndim_of(x):
        raise ShapeError(f"{name}: {describe(x)} and {describe(indices)} must have equally many axes; or use polyad.take")
    axis, shape = normalize_axis(name, axis, ndim_of(x)), shape_of(x)
    own = lambda i, n: reshape(arange_like(x, n), shape=(n, *(1,) * (len(shape) - i - 1)))
    return tuple(indices if i == axis else own(i, n) for i, n in enumerate(shape))


@composite(
    samples=[
        case(normal(3, 4), integers(3, 2, high=4), axis=1), case(normal(4), integers(2, high=4), axis=0),
        case(normal(3, 4), integers(1, 4, high=3), axis=0), case(normal(3, 4), integers(5, high=12), axis=None),
        case(normal(1, 3), integers(5, 1, high=3), axis=-1),
    ],
)  # fmt: skip
def take_along_axis(x, indices, /, axis: Any = -1):
    """Elements of x at places along an axis that may differ for each line; `indices` broadcasts against x elsewhere.

    indices: integer array with as many axes as x. axis: None takes from x flattened. Raises ShapeError.
    """
    if axis is None:
        return getitem(ravel(x), indices)
    return getitem(x, _along_axis("take_along_axis", x, indices, axis))


def _index_cases(*places):
    return lambda rng: np.array(places).reshape(-1, 1)


@composite(
    numpy=(),
    samples=[case(normal(3, 4), _index_cases(1, 3, 0), normal(3, 1)), case(normal(3, 2), _index_cases(2), 0.0, axis=0)],
)
def put_along_axis(x, indices, values, /, axis: Any = -1):
    """A copy of x with values written at places along an axis that may differ for each line; x itself stays as it is.

    Parameters as for `take_along_axis`; values broadcast against indices. Where places repeat, the last value counts.
    NumPy's function of this name changes x in place instead. Raises ShapeError.
    """
    if axis is None:
        return reshape(at(ravel(x), indices).set(values), shape=shape_of(x))
    return at(x, _along_axis("put_along_axis", x, indices, axis)).set(values)
