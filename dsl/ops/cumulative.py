"""Cumulative sums and products, and differences of neighbours."""

import math
import string

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import Aval, dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite, linear, opaque
from ..samples import case, complex_normal, integers, normal
from .arithmetic import add, multiply, subtract
from .compare import isnan, not_equal, where
from .complex import astype
from .create import ones_like, zeros_like
from .indexing import getitem
from .rearrange import along, array_like, flip
from .shape import broadcast_to, concatenate, ravel, reshape

samples = [case(normal(4)), case(normal(2, 3), axis=1), case(normal(2, 3), axis=0), case(complex_normal(3), axis=0)]
small = [case(integers(4)), case(lambda rng: rng.integers(0, 2, (2, 3)).astype(bool), axis=1)]


def gappy(rng):
    """Sample vector with places that are not numbers."""
    return np.where(np.arange(6) % 3 == 1, np.nan, rng.standard_normal(6))


def _line(x, axis):
    """(x, axis), flattened if axis is None."""
    return (ravel(x), 0) if axis is None else (x, axis)


def _cumulated(name, x, axis, dtype):
    """Shape and dtype of cumulated values."""
    if axis is not None:
        normalize_axis(name, axis, x.ndim)
    return Aval((x.size,) if axis is None else x.shape, getattr(np, name)(np.ones(1, x.dtype), dtype=dtype).dtype)


# ---------------------------------------------------------------------- sums
@linear(linear=(0,), samples=[*samples, *small, case(integers(3), dtype=np.dtype("float64"))])
def cumsum(x, /, axis=None, dtype=None):
    """Sums of the elements up to each position along an axis (None: of x flattened).

    x: numeric array. dtype: of the sums; small integers and booleans are summed in the default integer. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """


cumsum.rule("shape")(lambda x, axis=None, dtype=None: _cumulated("cumsum", x, axis, dtype))


@cumsum.rule("transpose")
def cumsum_transpose(i, ct, y, x, axis=None, dtype=None):
    at = 0 if axis is None else axis
    back = flip(cumsum(flip(ct, axis=at), axis=at), axis=at)
    return reshape(back, shape=shape_of(x)) if axis is None else back


@cumsum.rule("batch")
def cumsum_batch(size, xs, batched, axis=None, dtype=None):
    return _cumulate_lanes(cumsum, size, xs[0], axis, dtype)


# ---------------------------------------------------------------------- products
def _with_zeros(rng):
    return np.array([2.0, 0.0, 3.0, 0.0, 1.0])


@opaque(samples=[*samples, *small, case(_with_zeros)])
def cumprod(x, /, axis=None, dtype=None):
    """Products of the elements up to each position along an axis (None: of x flattened).

    Its derivatives are right where elements are zero: they are made of products only, log n steps of them. dtype: of the
    products; small integers and booleans are multiplied in the default integer. Raises ShapeError.
    """


cumprod.rule("shape")(lambda x, axis=None, dtype=None: _cumulated("cumprod", x, axis, dtype))


@cumprod.rule("jvp")
def cumprod_jvp(dxs, y, x, axis=None, dtype=None):
    """Prefix products p and their derivatives d together: a span and the span before it, of twice the length each step."""
    (p, axis), d = _line(x, axis), _line(dxs[0], axis)[0]
    axis = normalize_axis("cumprod", axis, ndim_of(p))
    n, reach = shape_of(p)[axis], 1
    while reach < n:
        head = along(axis, slice(reach))
        p1, d1 = (getitem(v, along(axis, slice(n - reach))) for v in (p, d))
        p2, d2 = (getitem(v, along(axis, slice(reach, None))) for v in (p, d))
        d = concatenate([getitem(d, head), add(multiply(d1, p2), multiply(p1, d2))], axis=axis)
        p = concatenate([getitem(p, head), multiply(p1, p2)], axis=axis)
        reach *= 2
    return d


@cumprod.rule("batch")
def cumprod_batch(size, xs, batched, axis=None, dtype=None):
    return _cumulate_lanes(cumprod, size, xs[0], axis, dtype)


def _cumulate_lanes(cumulate, size, x, axis, dtype):
    if axis is None:
        return cumulate(reshape(x, shape=(size, math.prod(shape_of(x)[1:]))), axis=1, dtype=dtype)
    return cumulate(x, axis=normalize_axis(cumulate.__name__, axis, ndim_of(x) - 1) + 1, dtype=dtype)


def _cumulated_from(cumulate):
    """Tell what `cumulate` reads: along the axis all positions up to its own."""

    @cumulate.rule("depends")
    def depends(x, axis=None, dtype=None):
        if axis is None and ndim_of(x) != 1:
            return cumulate(ravel(x), axis=0, dtype=dtype)
        letters = string.ascii_lowercase[: ndim_of(x)]
        along = letters[0 if axis is None else axis]
        return f"{letters.replace(along, along.upper())}->{letters}"


_cumulated_from(cumsum)
_cumulated_from(cumprod)


# ---------------------------------------------------------------------- the array API's form
_initial = [case(normal(3)), case(normal(2, 3), axis=1, include_initial=True), case(integers(3), include_initial=True)]


@composite(samples=_initial)
def cumulative_sum(x, /, axis=None, dtype=None, include_initial=False):
    """Sums up to each position along an axis, which may be left out only for one axis (array API).

    include_initial: begin with 0, the sum of nothing, so that there is one position more. Raises ShapeError.
    """
    return _cumulative("cumulative_sum", cumsum, zeros_like, x, axis, dtype, include_initial)


@composite(samples=_initial)
def cumulative_prod(x, /, axis=None, dtype=None, include_initial=False):
    """Products up to each position along an axis, which may be left out only for one axis (array API).

    include_initial: begin with 1, the product of nothing, so that there is one position more. Raises ShapeError.
    """
    return _cumulative("cumulative_prod", cumprod, ones_like, x, axis, dtype, include_initial)


def _cumulative(name, cumulate, neutral, x, axis, dtype, include_initial):
    if axis is None and ndim_of(x) != 1:
        raise ShapeError(f"{name}: {describe(x)} has {ndim_of(x)} axes; name the axis")
    axis = normalize_axis(name, 0 if axis is None else axis, ndim_of(x))
    y = cumulate(x, axis=axis, dtype=dtype)
    if not include_initial:
        return y
    first = neutral(y, shape=(*shape_of(y)[:axis], 1, *shape_of(y)[axis + 1 :]))
    return concatenate([first, y], axis=axis)


@composite(samples=[*samples, case(gappy)])
def nancumsum(x, /, axis=None, dtype=None):
    """`cumsum` that takes what is not a number for 0, along an axis. Raises ShapeError."""
    return cumsum(where(isnan(x), zeros_like(x, shape=()), x), axis=axis, dtype=dtype)


@composite(samples=[*samples, case(gappy)])
def nancumprod(x, /, axis=None, dtype=None):
    """`cumprod` that takes what is not a number for 1, along an axis. Raises ShapeError."""
    return cumprod(where(isnan(x), ones_like(x, shape=()), x), axis=axis, dtype=dtype)


# ---------------------------------------------------------------------- differences
@composite(
    samples=[
        case(normal(5)), case(normal(5), n=2), case(normal(3, 4), axis=0), case(normal(4), prepend=0.5),
        case(integers(2, 4), append=1), case(lambda rng: rng.integers(0, 2, 4).astype(bool)), case(complex_normal(3)),
    ],
)  # fmt: skip
def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, taken n times; of booleans: whether neighbours differ.

    prepend, append: numbers or arrays to be put before and after x first. Raises ShapeError.
    """
    if n < 0:
        raise ShapeError(f"diff: n must not be negative, not {n}")
    if n == 0:
        return x
    axis = normalize_axis("diff", axis, ndim_of(x))
    parts = [part for part in (_end(x, prepend, axis), x, _end(x, append, axis)) if part is not None]
    x = concatenate(parts, axis=axis) if len(parts) > 1 else x
    change = not_equal if dtype_of(x).kind == "b" else subtract
    for _ in range(n):
        x = change(getitem(x, along(axis, slice(1, None))), getitem(x, along(axis, slice(None, -1))))
    return x


def _end(x, value, axis):
    if value is None:
        return None
    value = array_like(value, x)
    if ndim_of(value) == 0:
        return broadcast_to(value, shape=(*shape_of(x)[:axis], 1, *shape_of(x)[axis + 1 :]))
    if ndim_of(value) != ndim_of(x):
        raise ShapeError(f"diff: {describe(value)} cannot be joined to {describe(x)}")
    return value


@composite(samples=[case(normal(4)), case(normal(2, 2), to_begin=(0.5, 2.0), to_end=1.5)])
def ediff1d(x, /, to_end=None, to_begin=None):
    """Differences of neighbours of x flattened, between the arrays or numbers `to_begin` and `to_end` if given.

    Raises ShapeError.
    """
    x = ravel(x)
    parts = [ravel(astype(array_like(v, x), dtype=dtype_of(x))) if v is not None else None for v in (to_begin, to_end)]
    return concatenate([part for part in (parts[0], diff(x), parts[1]) if part is not None], axis=0)
