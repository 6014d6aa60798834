"""Special functions of one or two variables: error functions, the normal distribution, entropies, Bessel functions.

Their kernels are SciPy's (`special.<name>`, on a device its library's), loaded by the first call; see `devices/special.py`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dispatch import MissingRuleError
from ..avals import dtype_of
from ..card import elementwise
from ..samples import above_one, case, complex_normal, normal, positives, unit
from .arithmetic import add, divide, multiply, negative, sign, square, subtract
from .compare import equal, greater, less, logical_and, where
from .complex import abs, astype
from .exponential import exp, log, log1p
from .tails import ROOT_PI, bell, erfcx_slope, horner

HALF = np.dtype(np.float16)
real = [case(normal(3)), case(normal(2, 3)), case(normal())]


def fraction(*shape):
    """Sample arrays in (0.1, 0.9)."""
    return lambda rng: rng.uniform(0.1, 0.9, shape)


fractions = [case(fraction(3)), case(fraction(2, 3))]
above_zero = [case(positives(3)), case(positives(2, 3)), case(positives())]


def special(name, *, partials: "Sequence[Callable[..., Any] | None] | None" = None, **facts: Any):
    """Card of an elementwise operation whose kernel is this function of SciPy's `special`."""
    if partials:
        facts["partials"] = [p if p is None else _in_its_dtype(p) for p in partials]
    facts.setdefault("numpy", ())
    return elementwise(kernel=f"special.{name}", **facts)


def _in_its_dtype(partial):
    """A partial for half precision too, where SciPy's results have a wider dtype and so have the slopes on the way."""

    def slope(y, *xs, **params):
        if any([dtype_of(x) == HALF for x in xs]):
            xs = [astype(x, dtype=dtype_of(y)) if dtype_of(x) == HALF else x for x in xs]
        return partial(y, *xs, **params)

    return slope


def no_slope(operation, argument, why):
    """A partial that does not exist: an error where somebody asks for it, never a zero."""

    def partial(*args, **params):
        raise MissingRuleError(
            f"{operation} has no derivative by {argument}: {why}; make it a constant with polyad.stop_gradient"
        )

    return partial


# ---------------------------------------------------------------------- error functions
def _error_slope(scale):
    return lambda y, x: multiply(scale, bell(x, -1.0))


@special("erf", partials=[_error_slope(2 / ROOT_PI)], singular=True, c="erf({0})", samples=[*real, case(complex_normal(3))])
def erf(x, /):
    """Error function, 2/√π ∫₀ˣ exp(-t²) dt, element by element. x: real or complex array."""


@special("erfc", partials=[_error_slope(-2 / ROOT_PI)], singular=True, c="erfc({0})", samples=real)
def erfc(x, /):
    """1 - erf(x) without cancellation for large x, element by element. x: real or complex array."""


def _rising_bell(y, left, low, high, centre, scale=1.0):
    """exp((scale y)²) for the quantile y of a probability with these distances from both ends (`left`: it is nearer to the
    lower one): far from the centre erfcx over that distance, which the rounding of y does not reach."""
    y = y if scale == 1.0 else multiply(scale, y)
    near = where(left, low, high)
    middle, end = greater(near, centre), equal(near, 0)
    tail = divide(where(end, 1.0, erfcx(where(left, negative(y), y))), near)  # infinite at the end itself
    return where(middle, exp(square(where(middle, y, 0.0))), tail)


def _erfinv_slope(y, x):
    return multiply(ROOT_PI / 2, _rising_bell(y, less(x, 0), add(1.0, x), subtract(1.0, x), 0.5))


def _erfcinv_slope(y, x):
    return multiply(-ROOT_PI / 2, _rising_bell(y, greater(x, 1), subtract(2.0, x), x, 0.5))


@special(
    "erfinv",
    partials=[_erfinv_slope],
    singular=True,
    c="erfinv({0})",
    samples=[case(unit(3))],
)
def erfinv(x, /):
    """Inverse of `erf`, element by element. x: real array in [-1, 1], infinite at the ends; NaN outside."""


@special(
    "erfcinv",
    partials=[_erfcinv_slope],
    singular=True,
    c="erfcinv({0})",
    samples=fractions,
)
def erfcinv(x, /):
    """Inverse of `erfc`, element by element, precise near 0. x: real array in [0, 2]; NaN outside."""


@special("erfcx", partials=[erfcx_slope], singular=True, c="erfcx({0})", samples=[*real, case(complex_normal(3))])
def erfcx(x, /):
    """exp(x²) erfc(x), which neither overflows nor vanishes for large x, element by element."""


@special(
    "expi",
    partials=[lambda y, x: divide(exp(x), x)],
    singular=True,
    c="expi({0})",
    samples=[*above_zero, case(above_one(3))],
)
def expi(x, /):
    """Exponential integral Ei, -∫₋ₓ^∞ exp(-t)/t dt as a principal value, element by element; -inf at 0."""


# ---------------------------------------------------------------------- normal distribution, logistic curve
ROOT_HALF = math.sqrt(0.5)


def _density(x):
    return multiply(1 / math.sqrt(2 * math.pi), bell(x, -0.5))


def _ndtri_slope(y, p):
    exact = _rising_bell(y, less(p, 0.5), multiply(2.0, p), multiply(2.0, subtract(1.0, p)), 0.5, ROOT_HALF)
    return multiply(math.sqrt(2 * math.pi), exact)


def _log_ndtr_slope(y, x):
    """Density over distribution function, below 0 without their common factor."""
    left = less(x, 0)
    tail = divide(math.sqrt(2 / math.pi), erfcx(multiply(-ROOT_HALF, where(left, x, 0.0))))
    return where(left, tail, divide(_density(x), ndtr(where(left, 0.0, x))))


@special("ndtr", partials=[lambda y, x: _density(x)], singular=True, c="ndtr({0})", samples=real)
def ndtr(x, /):
    """Distribution function of the standard normal distribution, element by element."""


@special("ndtri", partials=[_ndtri_slope], singular=True, c="ndtri({0})", samples=fractions)
def ndtri(p, /):
    """Quantile function of the standard normal distribution, the inverse of `ndtr`. p: array in [0, 1]; NaN outside."""


@special(
    "log_ndtr",
    partials=[_log_ndtr_slope],
    singular=True,
    c="log_ndtr({0})",
    samples=[*real, case(lambda rng: rng.uniform(-40, -20, 3))],
)
def log_ndtr(x, /):
    """Logarithm of `ndtr` without underflow for x far below zero, element by element."""


@special(
    "logit",
    partials=[lambda y, p: divide(1.0, multiply(p, subtract(1.0, p)))],
    singular=True,
    c="logit({0})",
    samples=fractions,
)
def logit(p, /):
    """log(p / (1 - p)), the inverse of `expit`, element by element. p: array in [0, 1]; NaN outside."""


# ---------------------------------------------------------------------- products with logarithms
def _both(x, y, zero):
    return logical_and(equal(x, 0), equal(y, zero))


def _safe_log(function, x, y, zero):
    return function(where(_both(x, y, zero), zero + 1.0, y))


def _safe_ratio(x, y):
    both = _both(x, y, 0)
    return where(both, 0.0, divide(x, where(both, 1.0, y)))


with_log = [case(normal(3), positives(3)), case(normal(2, 3), positives(3)), case(2.0, positives(3))]


@special(
    "xlogy",
    partials=[lambda z, x, y: _safe_log(log, x, y, 0), lambda z, x, y: _safe_ratio(x, y)],
    singular=True,
    c="xlogy({0}, {1})",
    samples=[*with_log, case(complex_normal(3), complex_normal(3))],
)
def xlogy(x, y, /):
    """x log(y), and 0 where x is 0 (even if y is), element by element. Convention: both slopes at (0, 0) count as 0."""


@special(
    "xlog1py",
    partials=[lambda z, x, y: _safe_log(log1p, x, y, -1), lambda z, x, y: _safe_ratio(x, add(1.0, y))],
    singular=True,
    c="xlog1py({0}, {1})",
    samples=with_log,
)
def xlog1py(x, y, /):
    """x log(1 + y), and 0 where x is 0 (even if y is -1), element by element; slopes at (0, -1) count as 0."""


def _entr_slope(y, x):
    at_zero = equal(x, 0)
    return where(at_zero, 0.0, subtract(-1.0, log(where(at_zero, 1.0, x))))


@special("entr", partials=[_entr_slope], singular=True, c="entr({0})", samples=above_zero)
def entr(x, /):
    """-x log(x), 0 at 0 and -inf below, element by element: the terms of an entropy. Its slope at 0 counts as 0."""


# ---------------------------------------------------------------------- Bessel functions
def _over_x(y, x, sign, scale=None):
    """y / x for y = I₁(x) (sign 1) or J₁(x) (sign -1), by its power series near 0; scale: what y is multiplied with."""
    c = [0.5 * (sign / 4) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(9)]
    near = less(abs(x), 1.0)
    series = horner(square(where(near, x, 0.0)), c)
    if scale is not None:
        series = multiply(series, scale(x))
    return where(near, series, divide(y, where(near, 1.0, x)))


@special("i0", partials=[lambda y, x: i1(x)], singular=True, numpy=("i0",), c="i0({0})", samples=real)
def i0(x, /):
    """Modified Bessel function of the first kind of order 0, element by element."""


@special("i1", partials=[lambda y, x: subtract(i0(x), _over_x(y, x, 1))], singular=True, c="i1({0})", samples=real)
def i1(x, /):
    """Modified Bessel function of the first kind of order 1, element by element."""


@special("i0e", partials=[lambda y, x: subtract(i1e(x), multiply(sign(x), y))], c="i0e({0})", samples=real)
def i0e(x, /):
    """exp(-|x|) I₀(x), which does not overflow, element by element. Its slope at 0 counts as 0."""


def _i1e_slope(y, x):
    shrink = lambda x: exp(negative(abs(x)))
    return subtract(subtract(i0e(x), _over_x(y, x, 1, shrink)), multiply(sign(x), y))


@special("i1e", partials=[_i1e_slope], c="i1e({0})", samples=real)
def i1e(x, /):
    """exp(-|x|) I₁(x), which does not overflow, element by element."""


@special("j0", partials=[lambda y, x: negative(j1(x))], c="j0({0})", samples=real)
def j0(x, /):
    """Bessel function of the first kind of order 0, element by element."""


@special("j1", partials=[lambda y, x: subtract(j0(x), _over_x(y, x, -1))], c="j1({0})", samples=real)
def j1(x, /):
    """Bessel function of the first kind of order 1, element by element."""
