"""Functions that neural networks apply to each element, and the sums of exponentials behind them."""

import math
from typing import Any

import numpy as np

from ..avals import dtype_of, is_number
from ..card import composite, elementwise
from ..samples import case, complex_normal, normal
from .arithmetic import add, clip, divide, multiply, negative, square, subtract
from .compare import equal, greater, greater_equal, less_equal, logical_and, where
from .complex import stop_gradient
from .exponential import exp2, expm1
from .special import ndtr
from .trigonometric import tanh

one = [case(normal(3)), case(normal(2, 3)), case(normal())]
two = [case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), 0.0)]


def _share(logistic, slope, x, y):
    """logistic(x - y), the share of x in the sum whose logarithm is asked for; of equal infinities as if y were the largest
    number. What rounding takes from the difference (D. E. Knuth, The Art of Computer Programming 2, 4.2.2) counts where the
    share is small; `slope` is that of the logistic function over s (1 - s)."""
    if is_number(y) and y == 0:
        return logistic(x)
    most = float(np.finfo(dtype_of(x) if is_number(y) else dtype_of(y)).max)
    bounded = lambda v, most: min(max(v, -most), most) if is_number(v) else clip(v, -most, most)
    s = logistic(subtract(x, bounded(y, most)))
    a, b = [v if is_number(v) else stop_gradient(v) for v in (bounded(x, most / 2), bounded(y, most / 2))]
    d = subtract(a, b)
    seen = subtract(a, d)
    rest = add(subtract(a, add(d, seen)), subtract(seen, b))
    return add(s, multiply(multiply(slope, rest), multiply(s, subtract(1.0, s))))


def _halved(s, x, y):
    """The share s, which is half of the slope where both are +inf."""
    return s if is_number(x) or is_number(y) else where(logical_and(equal(x, y), equal(x, math.inf)), 0.5, s)


def _logistic_2(d):
    """1 / (1 + 2**-d), without overflow."""
    right = greater_equal(d, 0)
    e = exp2(where(right, negative(d), d))
    return divide(where(right, 1.0, e), add(1.0, e))


def _shares(logistic, slope):
    share = lambda x, y: _halved(_share(logistic, slope, x, y), x, y)
    return [lambda z, x, y: share(x, y), lambda z, x, y: share(y, x)]


@elementwise(
    partials=_shares(lambda d: expit(d), 1.0),
    c="logaddexp({0}, {1})",
    samples=two,
)
def logaddexp(x, y, /):
    """log(exp(x) + exp(y)) without overflow, element by element. x, y: real arrays. Slopes where the value is
    -inf are 0; where both are +inf, each is ½."""


@elementwise(
    partials=_shares(_logistic_2, math.log(2)),
    c="logaddexp2({0}, {1})",
    samples=two,
)
def logaddexp2(x, y, /):
    """log2(2**x + 2**y) without overflow, element by element. x, y: real arrays. Slopes where the value is
    -inf are 0; where both are +inf, each is ½."""


@composite(kernel=None, numpy=(), samples=one)
def softplus(x, /):
    """log(1 + exp(x)) without overflow, element by element: a smooth form of `relu`."""
    return logaddexp(x, 0.0)


@composite(kernel=None, numpy=(), samples=one)
def log_sigmoid(x, /):
    """Logarithm of `expit` without underflow, element by element."""
    return negative(logaddexp(subtract(0.0, x), 0.0))  # no negative(x), which wraps around for unsigned integers


@elementwise(
    partials=[lambda y, x: multiply(y, expit(negative(x)))],  # pyright: ignore  the slope is by itself
    kernel="special.expit", numpy=(), c="expit({0})",
    samples=[*one, case(complex_normal(3))],
)  # fmt: skip
def expit(x, /):
    """Logistic function 1 / (1 + exp(-x)) without overflow, element by element; `sigmoid` is another name for it."""


@composite(kernel=None, numpy=(), samples=one)
def relu(x, /):
    """The larger of x and 0, element by element; NaN stays. Its slope at 0 is 0 (`maximum` shares it between both)."""
    return where(less_equal(x, 0), 0, x)


@composite(kernel=None, numpy=(), samples=[*one, case(normal(3), slope=0.2)])
def leaky_relu(x, /, slope: Any = 0.01):
    """x, and `slope` times x below 0, element by element. Its slope at 0 is 1."""
    return where(greater_equal(x, 0), x, multiply(x, slope))


@composite(kernel=None, numpy=(), samples=[*one, case(normal(3), alpha=0.5)])
def elu(x, /, alpha: Any = 1.0):
    """x, and alpha (exp(x) - 1) below 0, element by element."""
    above = greater(x, 0)
    return where(above, x, multiply(alpha, expm1(where(above, 0.0, x))))


@composite(kernel=None, numpy=(), samples=[*one, case(normal(3), approximate=True)])
def gelu(x, /, approximate=False):
    """x times the normal distribution function of x, element by element (Hendrycks and Gimpel, arXiv:1606.08415).

    x: real array. approximate: their formula with tanh, to 1e-3, which needs no SciPy. Raises ShapeError, DTypeError.
    """
    if not approximate:
        return multiply(x, ndtr(x))
    cube = multiply(square(x), x)
    inner = multiply(math.sqrt(2 / math.pi), add(x, multiply(0.044715, cube)))
    return multiply(multiply(0.5, x), add(tanh(inner), 1.0))


@composite(kernel=None, numpy=(), samples=one)
def silu(x, /):
    """x times `expit` of x, element by element; also known as swish."""
    return multiply(x, expit(x))
