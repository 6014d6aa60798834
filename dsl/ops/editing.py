"""Elements put in, left out or added behind, along an axis."""

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..array_libraries import asarray_like, host_copy
from ..avals import dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite
from ..samples import case, normal
from .complex import astype
from .indexing import take
from .rearrange import array_like
from .shape import broadcast_to, concatenate, moveaxis, ravel, reshape


@composite(samples=[case(normal(3), normal(2)), case(normal(2, 2), normal(1, 2), axis=0), case(normal(2, 2), 1.5)])
def append(x, values, /, axis=None):
    """x with values behind it along an axis (None: both flattened); the arrays have equal shapes besides. Raises ShapeError."""
    if axis is None:
        return concatenate([ravel(x), ravel(array_like(values, x))], axis=0)
    return concatenate([x, values], axis=axis)


@composite(
    samples=[
        case(normal(4), 1), case(normal(3, 4), (0, -1), axis=1), case(normal(4), slice(0, None, 2)), case(normal(2, 3), 4),
    ],
)  # fmt: skip
def delete(x, /, obj, axis=None):
    """x without the places `obj` along an axis (None: of x flattened).

    obj: int, several, a slice, or a boolean vector; the places are part of the result's shape, so they are known while
    tracing. Raises ShapeError.
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis("delete", axis, ndim_of(x))
    keep = np.ones(shape_of(x)[axis], bool)
    try:
        keep[obj if isinstance(obj, slice) else _places(obj)] = False
    except IndexError as error:
        raise ShapeError(f"delete: axis {axis} of {describe(x)}: {error}") from None
    return take(x, asarray_like(np.flatnonzero(keep), x), axis=axis)


def _places(obj):
    """Places as an integer or boolean NumPy array."""
    places = np.asarray(obj if isa(obj, (int, list, tuple)) else host_copy(obj))
    return places if places.size else places.astype(np.intp)


@composite(
    samples=[
        case(normal(4), 1, normal()), case(normal(2, 3), 1, normal(2), axis=1), case(normal(2, 3), -1, 2.0),
        case(normal(2, 3), 0, normal(2, 3), axis=0), case(normal(2, 3), 3, normal(2, 1), axis=1),
    ],
)  # fmt: skip
def insert(x, obj, values, /, axis=None):
    """x with values put in before the places `obj` of an axis (None: of x flattened), in x's dtype.

    obj: int, or integer array of places of x. values: broadcast against the new places; for an int `obj` values of fewer
    axes than x are one place each. Raises ShapeError.
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis("insert", axis, ndim_of(x))
    n, shape = shape_of(x)[axis], list(shape_of(x))
    places, values = _places(obj), array_like(values, x)
    places = np.flatnonzero(places) if places.dtype == bool else places
    if places.size == 1:  # a block of values before one place
        values = reshape(values, shape=(1,) * (ndim_of(x) - ndim_of(values)) + shape_of(values))
        values = values if places.ndim else moveaxis(values, 0, axis)
        places = np.repeat(places.ravel(), shape_of(values)[axis])
    if places.ndim != 1 or ((places < -n) | (places > n)).any():
        raise ShapeError(f"insert: obj must be places from {-n} to {n} of axis {axis} of {describe(x)}")
    shape[axis] = len(places)
    values = broadcast_to(astype(values, dtype=dtype_of(x)), shape=tuple(shape))
    order = np.argsort(np.concatenate([np.where(places < 0, places + n, places), np.arange(n)]), kind="stable")
    return take(concatenate([values, x], axis=axis), asarray_like(order, x), axis=axis)
