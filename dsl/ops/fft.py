"""Discrete Fourier transforms along axes, of complex, real and Hermitian signals; frequencies and shifts.

Four linear cards (fft ifft rfft irfft) carry the mathematics; all else is written with them. Under the pairing
Re(sum(ct * t)) the matrix of fft is its own transpose. rfft keeps the first n//2+1 of the n coefficients of a real signal,
and irfft fills the rest in by symmetry: each is the other's transpose up to a conjugation and to the weight of the
coefficients that stand for two.
"""

from __future__ import annotations

import functools
import string
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe
from ..avals import Aval, dtype_of, ndim_of, normalize_axis, reduced_axes, shape_of
from ..card import composite, linear
from ..samples import case, complex_normal, normal
from .arithmetic import add, divide, multiply
from .compare import greater, less, logical_and
from .complex import astype, conj, is_complex
from .create import arange, arange_like, ones_like, zeros_like
from .indexing import Slice, describe_shape, index
from .rearrange import roll
from .shape import concatenate, reshape

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray
SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def swapped(norm):
    """The scaling of a transform in the other direction that has the same factor."""
    return SWAPPED[norm]


def transform_length(name, x, n, axis, norm):
    """(axis, n) of one transform with defaults filled in; what does not fit is refused, by name.

    Raises ShapeError for axes, lengths and an unknown norm, DTypeError for a complex array where a real one is due.
    """
    axis = normalize_axis(name, axis, ndim_of(x))
    if norm not in SWAPPED:
        raise ShapeError(f"{name}: norm is {norm!r}; it is 'backward', 'ortho' or 'forward'")
    if name == "rfft" and is_complex(x):
        raise DTypeError(f"rfft: {describe_shape(x)} is complex; use fft, or rfft of its real part")
    found = shape_of(x)[axis]
    if n is None:
        n = 2 * (found - 1) if name == "irfft" else found
    if n < 1:
        raise ShapeError(f"{name}: {n} points along axis {axis} of {describe_shape(x)}; a transform needs at least one, give n")
    return axis, int(n)


@functools.cache
def _result_dtype(name, dtype):
    """NumPy's dtype of a transform: single precision stays single."""
    return getattr(np.fft, name)(np.ones(2, dtype)).dtype


def _resized(x, n, axis):
    """x cut off at n elements along an axis, or with zeros added up to n: the transpose of the same."""
    shape = shape_of(x)
    if shape[axis] > n:
        return index(x, spec=(*(Slice((None, None, None)),) * axis, Slice((None, n, None))))
    if shape[axis] == n:
        return x
    return concatenate([x, zeros_like(x, shape=(*shape[:axis], n - shape[axis], *shape[axis + 1 :]))], axis=axis)


def _weighted(z, n, axis, pair):
    """Half a spectrum of n points with each coefficient that stands for two multiplied by `pair`."""
    half = n // 2 + 1
    k = arange_like(z, half)
    pairs = logical_and(greater(k, 0), less(k, (n + 1) // 2))
    real = np.real(np.zeros((), dtype_of(z))).dtype
    weights = add(ones_like(z, dtype=real, shape=(half,)), multiply(astype(pairs, dtype=real), pair - 1.0))
    return multiply(z, reshape(weights, shape=(half, *(1,) * (ndim_of(z) - 1 - axis))))


# ---------------------------------------------------------------------- the four cards
_lengths = lambda make: [
    case(make(4)), case(make(2, 5), n=3, norm="ortho"), case(make(3, 2), n=6, axis=0, norm="forward"), case(make(2, 1)),
]  # fmt: skip


@linear(home="fft", samples=[*_lengths(complex_normal), *_lengths(normal)[:2]])
def fft(x, /, n=None, axis=-1, norm=None):
    """Discrete Fourier transform y[k] = sum over j of x[j] exp(-2πi jk/n) along an axis.

    x: array of numbers. n: number of points, to which the axis is cut off or filled up with zeros; its length unless given.
    norm: "backward" (None) scales only the inverse, by 1/n; "forward" only this one; "ortho" both, by 1/sqrt(n). Returns
    complex numbers of x's precision (float32 gives complex64). Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.fft.fft(np.ones(2))
    array([2.+0.j, 0.+0.j])
    """


@linear(home="fft", samples=[*_lengths(complex_normal), *_lengths(normal)[:2]])
def ifft(x, /, n=None, axis=-1, norm=None):
    """Inverse of `fft` along an axis: x[j] = (1/n) sum over k of y[k] exp(2πi jk/n). Shape, parameters: as for `fft`.
    Raises ShapeError."""


@linear(home="fft", samples=[*_lengths(normal), case(normal(1)), case(normal(5), n=4)])
def rfft(x, /, n=None, axis=-1, norm=None):
    """The first n//2+1 coefficients of the transform of a real signal; the others are their conjugates.

    x: real array; parameters as for `fft`. Raises ShapeError, and DTypeError for complex x.
    """


@linear(
    home="fft",
    samples=[
        *_lengths(complex_normal)[:3], case(complex_normal(3), n=5), case(normal(3)), case(complex_normal(5), n=5),
        case(complex_normal(2), n=1),
    ],
)  # fmt: skip
def irfft(x, /, n=None, axis=-1, norm=None):
    """Real signal of n points from the first n//2+1 coefficients of its transform: the inverse of `rfft`.

    x: array of m coefficients along the axis. n: 2(m - 1) unless given. The imaginary parts of the first coefficient, and
    of the last one for even n, have no counterpart in a real signal and are ignored. Raises ShapeError.
    """


def _declare_shape(op, length):
    name = op.__name__

    @op.rule("shape")
    def shape(x, n=None, axis=-1, norm=None):
        axis, n = transform_length(name, x, n, axis, norm)
        return Aval((*x.shape[:axis], length(n), *x.shape[axis + 1 :]), _result_dtype(name, x.dtype))

    @op.rule("depends")
    def depends(x, n=None, axis=-1, norm=None):
        letters = string.ascii_lowercase[: ndim_of(x)]
        return f"{letters}->{letters.replace(letters[axis], 'z')}"

    @op.rule("batch")
    def batch(size, xs, batched, n=None, axis=-1, norm=None):
        (x,) = xs
        axis, n = transform_length(name, Aval(shape_of(x)[1:], dtype_of(x)), n, axis, norm)
        return op(x, n=n, axis=axis + 1, norm=norm)


_declare_shape(fft, lambda n: n)
_declare_shape(ifft, lambda n: n)
_declare_shape(rfft, lambda n: n // 2 + 1)
_declare_shape(irfft, lambda n: n)


def _own_transpose(op):
    def transpose(ct, y, x, n=None, axis=-1, norm=None):
        axis, n = transform_length(op.__name__, x, n, axis, norm)
        return _resized(op(ct, axis=axis, norm=norm), shape_of(x)[axis], axis)

    op.rule("transpose")([transpose])


_own_transpose(fft)
_own_transpose(ifft)


def _rfft_transpose(ct, y, x, n=None, axis=-1, norm=None):
    axis, n = transform_length("rfft", x, n, axis, norm)
    z = irfft(_weighted(conj(ct), n, axis, 0.5), n=n, axis=axis, norm=swapped(norm))
    return _resized(z, shape_of(x)[axis], axis)


def _irfft_transpose(ct, y, x, n=None, axis=-1, norm=None):
    axis, n = transform_length("irfft", x, n, axis, norm)
    z = _weighted(conj(rfft(ct, axis=axis, norm=swapped(norm))), n, axis, 2.0)
    return _resized(z, shape_of(x)[axis], axis)


rfft.rule("transpose")([_rfft_transpose])
irfft.rule("transpose")([_irfft_transpose])


# ---------------------------------------------------------------------- Hermitian signals
@composite(home="fft", samples=[case(complex_normal(3)), case(complex_normal(2, 4), n=5, norm="ortho"), case(normal(3))])
def hfft(x, /, n=None, axis=-1, norm=None):
    """Transform of a signal that is Hermitian in time, hence real: n values from the first n//2+1 of the signal.

    x: array; n: 2(m - 1) for m values along the axis unless given. Raises ShapeError.
    """
    _known("hfft", norm)
    return irfft(conj(x), n=n, axis=axis, norm=swapped(norm))


@composite(home="fft", samples=[case(normal(4)), case(normal(5, 2), n=4, axis=0, norm="forward")])
def ihfft(x, /, n=None, axis=-1, norm=None):
    """Inverse of `hfft`: the first n//2+1 values of the Hermitian signal whose transform along the axis is the real x.

    n: number of points of x used, its length unless given. Raises ShapeError, DTypeError for complex x.
    """
    _known("ihfft", norm)
    return conj(rfft(x, n=n, axis=axis, norm=swapped(norm)))


def _known(name, norm):
    if norm not in SWAPPED:
        raise ShapeError(f"{name}: norm is {norm!r}; it is 'backward', 'ortho' or 'forward'")


# ---------------------------------------------------------------------- several axes
def _lengths_and_axes(name, x, s, axes, last=lambda m: m):
    """Pairs (axis, points) of a transform over several axes; s of -1 or None keeps the length. last: the default
    length of the last axis as a function of its length in x."""
    if axes is None:
        axes = range(ndim_of(x)) if s is None else range(-len(s), 0)
    axes = [normalize_axis(name, a, ndim_of(x)) for a in axes]
    s = [None] * len(axes) if s is None else list(s)
    if len(s) != len(axes):
        raise ShapeError(f"{name}: s has {len(s)} lengths for {len(axes)} axes of {describe(x)}")
    pairs = [(a, shape_of(x)[a] if n is None or n == -1 else n) for a, n in zip(axes, s, strict=True)]
    if pairs and s[-1] is None:
        pairs[-1] = (axes[-1], last(shape_of(x)[axes[-1]]))
    return pairs


def _at_least_one(name, pairs):
    if not pairs:
        raise ShapeError(f"{name}: no axes; it needs at least one")
    return pairs[:-1], pairs[-1]


_several = lambda make: [
    case(make(2, 3)), case(make(2, 3, 2), axes=(0, 2)), case(make(2, 3), s=(3, 2), axes=(0, 1), norm="ortho"),
]  # fmt: skip


@composite(home="fft", samples=_several(complex_normal))
def fftn(x, /, s=None, axes=None, norm=None):
    """Fourier transform over several axes.

    s: number of points per axis, as `n` of `fft`; -1 keeps the length. axes: all, or the last len(s), unless given. norm: as
    for `fft`. Raises ShapeError.
    """
    for axis, n in reversed(_lengths_and_axes("fftn", x, s, axes)):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


@composite(home="fft", samples=_several(complex_normal))
def ifftn(x, /, s=None, axes=None, norm=None):
    """Inverse of `fftn`, with the same parameters for the shape s and the axes. Raises ShapeError."""
    for axis, n in reversed(_lengths_and_axes("ifftn", x, s, axes)):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return x


@composite(home="fft", samples=_several(normal))
def rfftn(x, /, s=None, axes=None, norm=None):
    """Transform of a real array over several axes: `rfft` along the last of them, `fft` along the others.

    Parameters as for `fftn`. Raises ShapeError, DTypeError for complex x.
    """
    rest, (axis, n) = _at_least_one("rfftn", _lengths_and_axes("rfftn", x, s, axes))
    x = rfft(x, n=n, axis=axis, norm=norm)
    for axis, n in reversed(rest):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


@composite(home="fft", samples=[*_several(complex_normal), case(complex_normal(2, 3), s=(2, 5), axes=(0, 1))])
def irfftn(x, /, s=None, axes=None, norm=None):
    """Inverse of `rfftn`: `ifft` along all axes but the last, `irfft` along that, of 2(m - 1) points unless s says more.

    Parameters as for `fftn`. Raises ShapeError.
    """
    rest, (last, points) = _at_least_one("irfftn", _lengths_and_axes("irfftn", x, s, axes, lambda m: 2 * (m - 1)))
    for axis, n in rest:
        x = ifft(x, n=n, axis=axis, norm=norm)
    return irfft(x, n=points, axis=last, norm=norm)


@composite(home="fft", samples=[case(complex_normal(2, 3)), case(complex_normal(2, 3, 2), s=(2, 2), axes=(0, 1))])
def fft2(x, /, s=None, axes: Any = (-2, -1), norm=None):
    """Fourier transform over two axes, the last two unless given: `fftn`. Raises ShapeError."""
    return fftn(x, s=s, axes=axes, norm=norm)


@composite(home="fft", samples=[case(complex_normal(2, 3)), case(complex_normal(2, 3, 2), s=(2, 2), axes=(0, 1))])
def ifft2(x, /, s=None, axes: Any = (-2, -1), norm=None):
    """Inverse of `fft2` over two axes. Raises ShapeError."""
    return ifftn(x, s=s, axes=axes, norm=norm)


@composite(home="fft", samples=[case(normal(2, 3)), case(normal(2, 3, 2), s=(2, 2), axes=(0, 1))])
def rfft2(x, /, s=None, axes: Any = (-2, -1), norm=None):
    """Transform of a real array over two axes: `rfftn`. Raises ShapeError, DTypeError."""
    return rfftn(x, s=s, axes=axes, norm=norm)


@composite(home="fft", samples=[case(complex_normal(2, 3)), case(complex_normal(2, 3, 2), s=(2, 3), axes=(0, 1))])
def irfft2(x, /, s=None, axes: Any = (-2, -1), norm=None):
    """Inverse of `rfft2` over two axes: `irfftn`. Raises ShapeError."""
    return irfftn(x, s=s, axes=axes, norm=norm)


# ---------------------------------------------------------------------- order of the frequencies
@composite(home="fft", samples=[case(normal(5)), case(normal(3, 4)), case(complex_normal(3, 4), axes=1)])
def fftshift(x, /, axes=None):
    """x with frequency zero moved from the front to the middle of the axes (None: all). Raises ShapeError."""
    over = reduced_axes("fftshift", x, axes)
    return roll(x, tuple(shape_of(x)[a] // 2 for a in over), axis=over) if over else x


@composite(home="fft", samples=[case(normal(5)), case(normal(3, 4)), case(complex_normal(3, 4), axes=(1,))])
def ifftshift(x, /, axes=None):
    """Undoes `fftshift` over the axes, for odd lengths too. Raises ShapeError."""
    over = reduced_axes("ifftshift", x, axes)
    return roll(x, tuple(-(shape_of(x)[a] // 2) for a in over), axis=over) if over else x


def _points(name, n):
    if not hasattr(n, "__index__") or n.__index__() < 1:
        raise ShapeError(f"{name}: n is {n!r}; it is a positive integer, the number of points")
    return n.__index__()


def fftfreq(n: Any, d: Any = 1.0, dtype: Any = None, device: Any = None) -> AnyArray:
    """The frequencies of the coefficients that `fft` gives, in its order: 0, 1, …, -2, -1 over n·d.

    n: number of points. d: spacing of the samples, in any unit; may be followed by a transformation. dtype: float64 unless
    given; device: the current one unless given. Returns shape (n,), in cycles per unit of d. Raises ShapeError.
    """
    n = _points("fftfreq", n)
    positive = (n + 1) // 2
    k = concatenate([arange(positive, device=device), arange(-(n // 2), 0, device=device)])
    return _frequencies(k, n, d, dtype)


def rfftfreq(n: Any, d: Any = 1.0, dtype: Any = None, device: Any = None) -> AnyArray:
    """The frequencies of the coefficients that `rfft` gives: 0, 1, …, n//2 over n·d, shape (n//2+1,). Parameters as for
    `fftfreq`. Raises ShapeError."""
    n = _points("rfftfreq", n)
    return _frequencies(arange(n // 2 + 1, device=device), n, d, dtype)


def _frequencies(k, n, d, dtype):
    y = multiply(astype(k, dtype=np.float64), divide(1.0, multiply(d, n)))
    return y if dtype is None else astype(y, dtype=np.dtype(dtype))
