"""Changes of shape: reshape, transpose, broadcast, join, new and dropped axes. All linear."""

import math
from typing import Any

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..avals import Aval, aval_of, ndim_of, normalize_axis, shape_of
from ..card import composite, linear
from ..roots import picking
from ..samples import case, complex_normal, normal, sequence_case


def full_shape(name, shape, size):
    """A shape given as an int or a sequence, with one -1 filled in from `size`."""
    shape = (shape,) if isa(shape, (int, np.integer)) else tuple(shape)
    known = math.prod([n for n in shape if n != -1])
    if shape.count(-1) == 1 and known and size % known == 0:
        shape = tuple(size // known if n == -1 else int(n) for n in shape)
    if -1 in shape or math.prod(shape) != size:
        raise ShapeError(f"{name}: an array of {size} elements cannot take the shape {list(shape)}")
    return tuple(int(n) for n in shape)


def size_of(x):
    """Number of elements."""
    return math.prod(shape_of(x))


# ---------------------------------------------------------------------- reshape
@linear(samples=[case(normal(2, 3), shape=(3, 2)), case(normal(4), shape=(2, -1)), case(complex_normal(2, 2), shape=(4,))])
def reshape(x, /, shape, copy=None):
    """The same elements in row-major order in another shape; one length may be -1.

    copy: True for a copy in any case, False to refuse one, None for one where it is needed. Raises ShapeError.
    """


picking(reshape)
reshape.rule("shape")(lambda x, shape, copy=None: Aval(full_shape("reshape", shape, x.size), x.dtype))
reshape.rule("transpose")([lambda ct, y, x, shape, copy=None: reshape(ct, shape=shape_of(x))])


@reshape.rule("batch")
def reshape_batch(size, xs, batched, shape, copy=None):
    (x,) = xs
    return reshape(x, shape=(size, *full_shape("reshape", shape, math.prod(shape_of(x)[1:]))))


# ---------------------------------------------------------------------- transpose
def full_permutation(name, axes, ndim):
    """A permutation of the axes as a tuple of non-negative ints; None reverses them."""
    if axes is None:
        return tuple(reversed(range(ndim)))
    axes = tuple(normalize_axis(name, a, ndim) for a in axes)
    if sorted(axes) != list(range(ndim)):
        raise ShapeError(f"{name}: axes {list(axes)} are no permutation of {ndim} axes")
    return axes


@linear(samples=[case(normal(2, 3)), case(normal(2, 3, 4), axes=(1, 2, 0)), case(complex_normal(2, 3))])
def transpose(x, /, axes=None):
    """The array with its axes permuted; `axes[i]` is the axis of x that becomes axis i, None reverses them."""


picking(transpose)
transpose.rule("shape")(
    lambda x, axes=None: Aval(tuple(x.shape[a] for a in full_permutation("transpose", axes, x.ndim)), x.dtype)
)


def _inverse(ct, y, x, axes=None):
    return transpose(ct, axes=tuple(int(a) for a in np.argsort(full_permutation("transpose", axes, ndim_of(x)))))


transpose.rule("transpose")([_inverse])


@transpose.rule("batch")
def transpose_batch(size, xs, batched, axes=None):
    (x,) = xs
    return transpose(x, axes=(0, *(a + 1 for a in full_permutation("transpose", axes, ndim_of(x) - 1))))


# ---------------------------------------------------------------------- broadcast
@linear(samples=[case(normal(3), shape=(2, 3)), case(normal(2, 1), shape=(4, 2, 3)), case(normal(), shape=(2,))])
def broadcast_to(x, /, shape):
    """x repeated along new leading axes and along axes of length 1 until it has this shape. Raises ShapeError."""


def _shape_tuple(shape):
    return (shape,) if hasattr(shape, "__index__") else tuple(shape)


picking(broadcast_to)


@broadcast_to.rule("shape")
def broadcast_to_shape(x, shape):
    shape = _shape_tuple(shape)
    try:
        fits = np.broadcast_shapes(x.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"broadcast_to: {x} cannot be broadcast to the shape {list(shape)}")
    return Aval(shape, x.dtype)


@broadcast_to.rule("batch")
def broadcast_to_batch(size, xs, batched, shape):
    (x,), shape = xs, _shape_tuple(shape)
    lane = shape_of(x)[1:]
    if len(lane) > len(shape):
        raise ShapeError(f"broadcast_to: {describe(x)} has more axes in each lane than the shape {list(shape)}")
    wide = reshape(x, shape=(size, *(1,) * (len(shape) - len(lane)), *lane))
    return broadcast_to(wide, shape=(size, *shape))


# ---------------------------------------------------------------------- one axis more or less
@composite(samples=[case(normal(3), axis=0), case(normal(2, 3), axis=(0, -1))])
def expand_dims(x, /, axis: Any = 0):
    """x with axes of length 1 inserted, at the position(s) `axis` of the result. Raises ShapeError."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = ndim_of(x) + len(axes)
    places = {normalize_axis("expand_dims", a, ndim) for a in axes}
    if len(places) != len(axes):
        raise ShapeError(f"expand_dims: axis {axis} names a place twice")
    lengths = iter(shape_of(x))
    return reshape(x, shape=tuple(1 if i in places else next(lengths) for i in range(ndim)))


@composite(samples=[case(normal(1, 3), axis=0), case(normal(2, 1, 1)), case(normal(1, 3, 1), axis=-1)])
def squeeze(x, /, axis=None):
    """x without axes of length 1: all of them, or the one(s) named. Raises ShapeError if a named one is longer."""
    shape = shape_of(x)
    if axis is None:
        return reshape(x, shape=tuple(n for n in shape if n != 1))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    drop = {normalize_axis("squeeze", a, len(shape)) for a in axes}
    if any(shape[a] != 1 for a in drop):
        raise ShapeError(f"squeeze: axis {axis} of {describe(x)} is not of length 1")
    return reshape(x, shape=tuple(n for i, n in enumerate(shape) if i not in drop))


@composite(samples=[case(normal(2, 3, 4), 0, 2), case(normal(2, 3), -1, 0)])
def moveaxis(x, /, source, destination):
    """x with the axis `source` (an int or several) moved to the place `destination`; the others keep their order."""
    ndim = ndim_of(x)
    listed = lambda axes: [axes] if isa(axes, (int, np.integer)) else list(axes)
    from_ = [normalize_axis("moveaxis", a, ndim) for a in listed(source)]
    to = [normalize_axis("moveaxis", a, ndim) for a in listed(destination)]
    if len(from_) != len(to) or len(set(from_)) != len(from_) or len(set(to)) != len(to):
        raise ShapeError(f"moveaxis: source {source} and destination {destination} must name equally many axes, once")
    order = [a for a in range(ndim) if a not in from_]
    for place, a in sorted(zip(to, from_, strict=True)):
        order.insert(place, a)
    return transpose(x, axes=tuple(order))


@composite(samples=[case(normal(2, 3), 0, 1), case(normal(2, 3, 4), 0, -1)])
def swapaxes(x, /, axis1, axis2):
    """x with two axes exchanged."""
    order = list(range(ndim_of(x)))
    a, b = (normalize_axis("swapaxes", axis, len(order)) for axis in (axis1, axis2))
    order[a], order[b] = b, a
    return transpose(x, axes=tuple(order))


@composite(kernel=None, numpy=("matrix_transpose",), samples=[case(normal(2, 3)), case(normal(4, 2, 3))])
def matrix_transpose(x, /):
    """x with its last two axes exchanged. Raises ShapeError for fewer than two axes."""
    if ndim_of(x) < 2:
        raise ShapeError(f"matrix_transpose: {describe(x)} has fewer than two axes")
    return swapaxes(x, -1, -2)


@composite(samples=[case(normal(2, 3)), case(normal())])
def ravel(x, /):
    """x as one axis, in row-major order."""
    return reshape(x, shape=(size_of(x),))


# ---------------------------------------------------------------------- joining
@linear(
    sequence=True,
    samples=[sequence_case(normal(2, 3), normal(1, 3)), sequence_case(normal(2, 3), normal(2, 2), axis=1)],
)
def concatenate(arrays, /, axis: Any = 0):
    """Join arrays along an existing axis.

    arrays: sequence of at least one array, of equal shape but for `axis`. axis: int, or None to flatten each first.
    Returns the promoted dtype. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.concatenate([np.zeros(1), np.ones(2)])
    array([0., 1., 1.])
    """


@concatenate.rule("shape")
def concatenate_shape(*xs, axis=0):
    if axis is None:
        return Aval((sum(x.size for x in xs),), np.result_type(*[x.dtype for x in xs]))
    axis = normalize_axis("concatenate", axis, xs[0].ndim)
    rest = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in xs}
    if len(rest) != 1:
        raise ShapeError(f"concatenate: shapes differ besides axis {axis}: {', '.join(map(str, xs))}")
    length = sum(x.shape[axis] for x in xs)
    return Aval((*xs[0].shape[:axis], length, *xs[0].shape[axis + 1 :]), np.result_type(*[x.dtype for x in xs]))


@concatenate.rule("vjp_all")
def concatenate_vjp(ct, y, *xs, axis=0):
    """For each array its part of the cotangent."""
    before, cts, start = (), [], 0
    if axis is not None:
        axis = normalize_axis("concatenate", axis, ndim_of(xs[0]))
        before = (slice(None),) * axis
    for x in xs:
        stop = start + (size_of(x) if axis is None else shape_of(x)[axis])
        part = ct[(*before, slice(start, stop))]
        cts.append(reshape(part, shape=shape_of(x)) if axis is None else part)
        start = stop
    return cts


@concatenate.rule("batch")
def concatenate_batch(size, xs, batched, axis=0):
    wide = [x if b else broadcast_to(x, shape=(size, *shape_of(x))) for x, b in zip(xs, batched, strict=True)]
    if axis is None:
        wide, axis = [reshape(x, shape=(size, -1)) for x in wide], 0
    return concatenate(wide, axis=normalize_axis("concatenate", axis, ndim_of(wide[0]) - 1) + 1)


@composite(sequence=True, samples=[sequence_case(normal(2, 3), normal(2, 3)), sequence_case(normal(3), normal(3), axis=-1)])
def stack(arrays, /, axis=0):
    """Join arrays of equal shape along a new axis. Raises ShapeError if the shapes differ or there is no array."""
    raise AssertionError("replaced by stack_body: a sequence's body takes the arrays one by one")


def stack_body(*arrays, axis=0):
    if len({shape_of(x) for x in arrays}) != 1:
        raise ShapeError(f"stack: shapes differ: {', '.join(str(aval_of(x)) for x in arrays)}")
    return concatenate([expand_dims(x, axis) for x in arrays], axis=axis)


stack.card.body = stack_body
