"""Questions about the parts of numbers, and repairs: infinities and signs, real parts, NaN replaced, angles unwrapped."""

import math
from typing import Any

import numpy as np

from ..avals import dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite, elementwise
from ..samples import case, normal, positives
from .arithmetic import add, divide, multiply, negative, remainder, subtract, trunc
from .compare import equal, greater, isinf, isnan, less, logical_and, logical_not, where
from .complex import abs, imag, real
from .create import zeros_like
from .cumulative import cumsum, diff
from .indexing import getitem
from .reduce import all
from .shape import concatenate


def _with_infinities(rng):
    return np.array([1.0, -np.inf, np.nan, np.inf, -0.0])


def _with_imaginary(rng):
    return np.array([1.0, 2j, 1 + 0j])


@elementwise(
    partials=[1, lambda y, x1, x2: negative(trunc(divide(x1, x2)))],
    c="fmod({0}, {1})",
    samples=[case(lambda rng: np.array([-3.3, 2.5, 7.1]), positives(3)), case(lambda rng: np.array(-5.2), positives(2, 2))],
)
def fmod(x1, x2, /):
    """Remainder of a division with the sign of x1, element by element; `remainder` has that of x2. Real arrays."""


@composite(kernel=None, numpy=("isposinf",), differentiable=False, samples=[case(_with_infinities), case(normal(2, 3))])
def isposinf(x, /):
    """Test whether each element is +inf. x: real array."""
    return logical_and(isinf(x), greater(x, 0))


@composite(kernel=None, numpy=("isneginf",), differentiable=False, samples=[case(_with_infinities), case(normal(2, 3))])
def isneginf(x, /):
    """Test whether each element is -inf. x: real array."""
    return logical_and(isinf(x), less(x, 0))


@composite(kernel=None, numpy=("isreal",), differentiable=False, samples=[case(normal(3)), case(_with_imaginary)])
def isreal(x, /):
    """Test whether each element has the imaginary part 0."""
    return equal(imag(x), 0)


@composite(kernel=None, numpy=("iscomplex",), differentiable=False, samples=[case(normal(3)), case(_with_imaginary)])
def iscomplex(x, /):
    """Test whether each element has an imaginary part other than 0."""
    return logical_not(isreal(x))


@composite(kernel=None, numpy=("real_if_close",), samples=[case(normal(3)), case(normal(2, 3), tol=1)])
def real_if_close(x, /, tol=100):
    """The real part of x if all of its imaginary parts are near 0, else x itself.

    tol: how near, in units of the dtype's precision; a number of at most 1 is the bound itself. Which of the two it is
    depends on the values: lanes that differ in it, and a trace of complex numbers, raise an error that says so.
    """
    if dtype_of(x).kind != "c":
        return x
    bound = tol * float(np.finfo(dtype_of(x)).eps) if tol > 1 else tol
    return real(x) if all(less(abs(imag(x)), bound)) else x


@composite(
    kernel=None, numpy=("nan_to_num",),
    samples=[case(_with_infinities), case(normal(2, 3)), case(_with_infinities, nan=2.0, posinf=9.0),
             case(lambda rng: np.array([1 + 1j, np.nan + 2j, 3 - np.inf * 1j]), neginf=-4.0)],
    no_rule={"jvp": "finite differences see infinities"},
)  # fmt: skip
def nan_to_num(x, /, nan: Any = 0.0, posinf=None, neginf=None):
    """x with NaN and infinities replaced by numbers; what is replaced has no derivative.

    nan, posinf, neginf: the numbers; None for the largest and the smallest of the dtype. Complex numbers are repaired part
    by part.
    """
    kind = dtype_of(x).kind
    if kind == "c":
        parts = [nan_to_num(part(x), nan=nan, posinf=posinf, neginf=neginf) for part in (real, imag)]
        return add(parts[0], multiply(1j, parts[1]))
    if kind != "f":
        return x
    limits = np.finfo(dtype_of(x))
    y = where(isnan(x), nan, x)
    y = where(isposinf(x), float(limits.max) if posinf is None else posinf, y)
    return where(isneginf(x), float(limits.min) if neginf is None else neginf, y)


@composite(
    kernel=None, numpy=("unwrap",),
    samples=[case(lambda rng: np.array([0.0, 3.0, 6.5, 1.0, -5.0])), case(normal(2, 3), axis=0), case(normal(4), period=1.5),
             case(normal(4), discont=2.0, period=1.0)],
)  # fmt: skip
def unwrap(x, /, discont=None, axis=-1, period: Any = 2 * math.pi):
    """Angles with the jumps between neighbours taken out, by whole periods. x: real array.

    discont: the smallest jump to take out, half a period at least. axis: along which. Raises ShapeError.
    """
    axis = normalize_axis("unwrap", axis, ndim_of(x))
    if not shape_of(x)[axis]:
        return x
    half = period / 2
    discont = half if discont is None else discont
    steps = diff(x, axis=axis)
    turned = subtract(remainder(add(steps, half), period), half)
    turned = where(logical_and(equal(turned, -half), greater(steps, 0)), half, turned)
    shifts = where(less(abs(steps), discont), 0.0, subtract(turned, steps))
    first = getitem(x, (*(slice(None),) * axis, slice(1)))
    return add(x, cumsum(concatenate([zeros_like(first), shifts], axis=axis), axis=axis))
