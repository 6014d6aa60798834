"""Convolution and correlation of two sequences, as NumPy has them."""

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import Aval, dtype_of, shape_of
from ..card import bilinear, composite
from ..samples import case, complex_normal, normal
from .arithmetic import add
from .complex import conjugated
from .conv import conv
from .create import zeros_like
from .indexing import Slice, index
from .reduce import sum
from .shape import concatenate, reshape
from .windows import sliding_windows

REVERSED = (Slice((None, None, -1)),)


def extent(name, a, v, mode):
    """(start, length) of the part of the full convolution that a mode keeps. Raises ShapeError."""
    shown = lambda x: str(x) if isinstance(x, Aval) else describe(x)
    if len(a.shape) != 1 or len(v.shape) != 1 or 0 in a.shape + v.shape:
        raise ShapeError(f"{name}: {shown(a)} and {shown(v)}; it takes two sequences (one axis) with at least one element")
    (short, long) = sorted((a.shape[0], v.shape[0]))
    parts = {"full": (0, long + short - 1), "same": ((short - 1) // 2, long), "valid": (short - 1, long - short + 1)}
    if mode not in parts:
        raise ShapeError(f"{name}: mode is {mode!r}; it is 'full', 'same' or 'valid'")
    return parts[mode]


def _slice_last(x, start, length):
    """A part of the last axis."""
    whole = (Slice((None, None, None)),) * (len(shape_of(x)) - 1)
    return x if shape_of(x)[-1] == length else index(x, spec=(*whole, Slice((start, start + length, None))))


@bilinear(
    samples=[
        case(normal(5), normal(3)), case(normal(3), normal(4), mode="same"), case(normal(4), normal(2), mode="same"),
        case(normal(2), normal(4), mode="valid"), case(complex_normal(3), complex_normal(2)), case(normal(1), normal(1)),
    ],
)  # fmt: skip
def convolve(a, v, /, mode="full"):
    """Convolution of two sequences: y[k] = sum over j of a[j] v[k - j].

    a, v: shape (m,) and (n,), not empty. mode: "full" gives all m + n - 1 values, "same" the middle max(m, n), "valid" those
    for which the shorter lies within the longer. Returns the promoted dtype. Raises ShapeError. For several sequences at once
    use `vmap`, for more axes `conv`.

    >>> import numpy as np, polyad as pa
    >>> pa.convolve(np.array([1, 2, 3]), np.array([1, 1]))
    array([1, 3, 5, 3])
    """


@convolve.rule("shape")
def convolve_shape(a, v, mode="full"):
    return Aval((extent("convolve", a, v, mode)[1],), np.result_type(a.dtype, v.dtype))


def _pull(ct, kept, other, mode):
    """The cotangent of one sequence, `kept`, which was convolved with the other."""
    start, length = extent("convolve", kept, other, mode)
    after = shape_of(kept)[0] + shape_of(other)[0] - 1 - start - length
    if start or after:
        ct = concatenate([zeros_like(ct, shape=(start,)), ct, zeros_like(ct, shape=(after,))])
    return convolve(ct, index(other, spec=REVERSED), mode="valid")


convolve.rule("transpose")([
    lambda ct, y, a, v, mode="full": _pull(ct, a, v, mode), lambda ct, y, a, v, mode="full": _pull(ct, v, a, mode)
])  # fmt: skip


@convolve.rule("batch")
def convolve_batch(size, xs, batched, mode="full"):
    lane = lambda x, known: Aval(shape_of(x)[known:], dtype_of(x))
    a, v = map(lane, xs, batched)
    start, length = extent("convolve", a, v, mode)
    if not size:
        return zeros_like(xs[batched.index(True)], dtype=np.result_type(*map(dtype_of, xs)), shape=(0, length))
    (a, v), both = xs, all(batched)
    if batched[1] and (not both or shape_of(v)[-1] > shape_of(a)[-1]):
        a, v = v, a  # the first one is batched, and if both are, the longer
    n = shape_of(v)[-1]
    x = reshape(a, shape=(1, size, -1) if both else (size, 1, -1))
    w = index(reshape(v, shape=(-1, 1, n)), spec=(Ellipsis, *REVERSED))
    y = conv(x, w, padding=n - 1, groups=size if both else 1)
    return _slice_last(reshape(y, shape=(size, -1)), start, length)


@convolve.rule("depends")
def convolve_depends(a, v, mode="full"):
    """All of each sequence that lies below the other."""

    def below(x, n):
        zeros = zeros_like(x, shape=(n - 1,))
        return sum(sliding_windows(concatenate([zeros, x, zeros]), window=n), axis=0)

    start, length = extent("convolve", a, v, mode)
    both = add(below(a, shape_of(v)[0]), below(v, shape_of(a)[0]))
    return _slice_last(both, start, length)


@composite(
    samples=[
        case(normal(5), normal(3)), case(normal(3), normal(5)), case(normal(4), normal(3), mode="full"),
        case(normal(5), normal(4), mode="same"), case(normal(2), normal(5), mode="same"),
        case(normal(3), normal(4), mode="full"), case(complex_normal(4), complex_normal(2), mode="same"),
    ],
)  # fmt: skip
def correlate(a, v, /, mode="valid"):
    """Correlation of two sequences: y[k] = sum over j of a[j + k] conj(v[j]).

    a, v: shape (m,) and (n,), not empty; mode: as for `convolve`. Raises ShapeError.
    """
    start, length = extent("correlate", a, v, mode)
    reverse = index(conjugated(v), spec=REVERSED)
    if mode != "same" or shape_of(a)[0] >= shape_of(v)[0]:
        return convolve(a, reverse, mode=mode)
    return _slice_last(convolve(a, reverse), shape_of(a)[0] // 2, length)  # the middle, seen from the other end
