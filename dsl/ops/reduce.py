"""Reductions: sum, mean, product, extrema, truth of all or any."""

import math

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import Aval, dtype_of, ndim_of, reduced_axes, shape_of
from ..card import composite, reduction
from ..samples import booleans, case, complex_normal, distinct, normal
from .arithmetic import divide, multiply
from .compare import equal, where
from .complex import astype
from .create import ones_like
from .shape import broadcast_to, concatenate, moveaxis, reshape

axes = [case(normal(2, 3)), case(normal(2, 3), axis=0), case(normal(2, 3, 2), axis=(0, -1), keepdims=True)]


def kept_shape(name, x, axis):
    """x's shape with the reduced axes as length 1, so that a result broadcasts against x."""
    reduced = reduced_axes(name, x, axis)
    return tuple(1 if i in reduced else n for i, n in enumerate(shape_of(x)))


def spread(name, y, x, axis, keepdims):
    """A reduction's result (or its cotangent) in the shape that broadcasts against x."""
    return y if keepdims else reshape(y, shape=kept_shape(name, x, axis))


@reduction(linear=(0,), samples=[*axes, case(complex_normal(3))])
def sum(x, /, axis=None, dtype=None, keepdims=False):
    """Sum of the elements over axes.

    x: numeric array; small integers and booleans are summed in the default integer, as in NumPy. axis: None for all, an
    int, or a tuple. dtype: of the sum. keepdims: keep the reduced axes with length 1. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.sum(np.ones((2, 3)), axis=1)
    array([3., 3.])
    """


@sum.rule("transpose")
def sum_transpose(i, ct, y, x, axis=None, dtype=None, keepdims=False):
    wide = ct if axis is None and not keepdims else spread("sum", ct, x, axis, keepdims)
    return broadcast_to(wide, shape=x.shape)


def sum_to(x, shape):
    """x summed over the axes along which `shape` was broadcast to x's shape: the transpose of broadcasting."""
    own, shape = shape_of(x), tuple(shape)
    if own == shape:
        return x
    extra = len(own) - len(shape)
    if own[extra:] == shape:  # the most usual, in one step
        return sum(x, axis=0 if extra == 1 else tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(own) if i < extra or (shape[i - extra] == 1 and n != 1))
    summed = sum(x, axis=axes) if axes else x
    return summed if shape_of(summed) == shape else reshape(summed, shape=shape)


broadcast_to.rule("transpose")([lambda ct, y, x, shape: sum_to(ct, shape_of(x))])


def is_half(x):
    """Test whether x is of half precision, in which sums of many elements, and their number, are infinite."""
    return dtype_of(x).char == "e"


def in_single(op, x, *others, **params):
    """An operation on an array of half precision, computed in single precision, its result in half precision again: as NumPy
    accumulates. others: further arrays or numbers that are converted too."""
    y = op(*[astype(v, dtype=np.float32) for v in (x, *others)], **params)
    return astype(y, dtype=np.float16)


@composite(samples=[*axes, case(complex_normal(3))])
def mean(x, /, axis=None, dtype=None, keepdims=False):
    """Arithmetic mean over axes; integers are averaged in float64, half precision in single. Parameters as for `sum`."""
    if dtype is None and is_half(x):
        return in_single(mean, x, axis=axis, keepdims=keepdims)
    shape = shape_of(x)
    count = math.prod(shape if axis is None else [shape[a] for a in reduced_axes("mean", x, axis)])
    if dtype is None and dtype_of(x).kind in "iub":
        dtype = np.float64
    return divide(sum(x, axis=axis, dtype=dtype, keepdims=keepdims), count)


def _holders(name, y, x, axis, keepdims):
    """For an extremum y of x: which elements hold it, and how many these are."""
    held = equal(x, spread(name, y, x, axis, keepdims))
    counts = np.float32 if is_half(x) else dtype_of(x)
    return held, sum(astype(held, dtype=counts), axis=axis, keepdims=True)


def _of_dtype(y, x):
    """y in the dtype of x, from the single precision in which halves are counted."""
    return astype(y, dtype=dtype_of(x)) if is_half(x) else y


def _extremum(name):
    def declare(prototype):
        samples = [case(distinct(2, 3)), *[case(distinct(2, 3, 2), axis=a, keepdims=a == 0) for a in (0, (0, -1))]]
        function = reduction(samples=samples)(prototype)

        def shape(x, axis=None, keepdims=False):
            axes = reduced_axes(name, x, axis)
            lengths = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
            if 0 in x.shape and 0 not in lengths:
                raise ShapeError(f"{name} of {describe(x)}: there is nothing to reduce, and no number to stand for that; give "
                                 "another axis, or ask for the length first")  # fmt: skip
            return Aval(lengths, x.dtype)

        function.rule("shape")(shape)

        def jvp(dxs, y, x, axis=None, keepdims=False):
            held, count = _holders(name, y, x, axis, keepdims)
            return _of_dtype(sum(where(held, divide(dxs[0], count), 0.0), axis=axis, keepdims=keepdims), x)

        def vjp(ct, y, x, axis=None, keepdims=False):
            held, count = _holders(name, y, x, axis, keepdims)
            return _of_dtype(where(held, divide(spread(name, ct, x, axis, keepdims), count), 0.0), x)

        function.rule("jvp")(jvp)
        function.rule("vjp")([vjp])
        return function

    return declare


@_extremum("max")
def max(x, /, axis=None, keepdims=False):
    """Largest element over axes; NaN if there is one. Equal largest elements share the derivative equally.

    Raises ShapeError if there is nothing to reduce.
    """


@_extremum("min")
def min(x, /, axis=None, keepdims=False):
    """Smallest element over axes; NaN if there is one. Equal smallest elements share the derivative equally."""


@reduction(samples=[*axes, case(complex_normal(3)), case(normal(5)), case(lambda rng: np.array([0.0, 2.0, 3.0]), axis=0)])
def prod(x, /, axis=None, dtype=None, keepdims=False):
    """Product of the elements over axes. Its derivative is right where elements are zero: no division is used.

    Parameters as for `sum`.
    """


def _others(x, axis):
    """For each element the product of all others over the axes: of those before it times of those after it."""
    reduced = reduced_axes("prod", x, axis)
    last = tuple(range(ndim_of(x) - len(reduced), ndim_of(x)))
    moved = moveaxis(x, reduced, last)
    flat = reshape(moved, shape=(*shape_of(moved)[: ndim_of(x) - len(reduced)], math.prod([shape_of(x)[a] for a in reduced])))
    before, after = _before(flat), _before(flat[..., ::-1])[..., ::-1]
    return moveaxis(reshape(multiply(before, after), shape=shape_of(moved)), last, reduced)


def _before(x):
    """Products of the elements before each one along the last axis, by log n multiplications with shifted copies."""
    n, reach = shape_of(x)[-1], 1
    shifted = lambda y, by: concatenate([ones_like(y[..., :by]), y[..., : n - by]], axis=-1)
    y = shifted(x, 1) if n else x
    while reach < n:
        y = multiply(y, shifted(y, reach))
        reach *= 2
    return y


@prod.rule("jvp")
def prod_jvp(dxs, y, x, axis=None, dtype=None, keepdims=False):
    return sum(multiply(dxs[0], _others(x, axis)), axis=axis, keepdims=keepdims)


def prod_vjp(ct, y, x, axis=None, dtype=None, keepdims=False):
    return multiply(spread("prod", ct, x, axis, keepdims), _others(x, axis))


prod.rule("vjp")([prod_vjp])


@reduction(differentiable=False, samples=[case(booleans(2, 3)), case(booleans(2, 3), axis=1, keepdims=True)])
def all(x, /, axis=None, keepdims=False):
    """Test whether all elements over axes are true (non-zero)."""


@reduction(differentiable=False, samples=[case(booleans(2, 3)), case(booleans(2, 3), axis=1, keepdims=True)])
def any(x, /, axis=None, keepdims=False):
    """Test whether any element over axes is true (non-zero)."""
