"""Special functions of one or two variables: error functions, the normal distribution, entropies, Bessel functions.

Their kernels are SciPy's (`special.<name>`, on a device its library's), loaded by the first call; see `devices/special.py`.
"""

import math

from ...dispatch import MissingRuleError
from ..avals import dtype_of
from ..card import above_one, case, complex_normal, elementwise, normal, positives, unit
from .arithmetic import add, divide, multiply, negative, reciprocal, sign, square, subtract
from .compare import equal, greater, less, logical_and, where
from .complex import abs
from .exponential import exp, log, log1p

ROOT_PI = math.sqrt(math.pi)
real = [case(normal(3)), case(normal(2, 3)), case(normal())]


def fraction(*shape):
    """Sample arrays in (0.1, 0.9)."""
    return lambda rng: rng.uniform(0.1, 0.9, shape)


fractions = [case(fraction(3)), case(fraction(2, 3))]
above_zero = [case(positives(3)), case(positives(2, 3)), case(positives())]


def special(name, **facts):
    """Card of an elementwise operation whose kernel is this function of SciPy's `special`."""
    return elementwise(kernel=f"special.{name}", **{"numpy": (), **facts})


def no_slope(operation, argument, why):
    """A partial that does not exist: an error where somebody asks for it, never a zero."""

    def partial(*args, **params):
        raise MissingRuleError(
            f"{operation} has no derivative by {argument}: {why}; make it a constant with polyad.stop_gradient"
        )

    return partial


def horner(t, coefficients):
    """The polynomial in t with these coefficients, lowest first."""
    y = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        y = add(multiply(y, t), c)
    return y


# ---------------------------------------------------------------------- error functions
def _bell(x, scale):
    return multiply(scale, exp(negative(square(x))))


@special(
    "erf", partials=[lambda y, x: _bell(x, 2 / ROOT_PI)], singular=True, c="erf({0})", samples=[*real, case(complex_normal(3))]
)
def erf(x, /):
    """Error function, 2/√π ∫₀ˣ exp(-t²) dt, element by element. x: real or complex array."""


@special("erfc", partials=[lambda y, x: _bell(x, -2 / ROOT_PI)], singular=True, c="erfc({0})", samples=real)
def erfc(x, /):
    """1 - erf(x) without cancellation for large x, element by element. x: real or complex array."""


@special(
    "erfinv", partials=[lambda y, x: multiply(ROOT_PI / 2, exp(square(y)))], singular=True, c="erfinv({0})",
    samples=[case(unit(3))],
)
def erfinv(x, /):
    """Inverse of `erf`, element by element. x: real array in [-1, 1], infinite at the ends; NaN outside."""


@special(
    "erfcinv", partials=[lambda y, x: multiply(-ROOT_PI / 2, exp(square(y)))], singular=True, c="erfcinv({0})",
    samples=fractions,
)
def erfcinv(x, /):
    """Inverse of `erfc`, element by element, precise near 0. x: real array in [0, 2]; NaN outside."""


def _erfcx_slope(y, x):
    """2xy - 2/√π; its asymptotic series where that cancels."""
    far = greater(x, 50.0) if dtype_of(x).kind == "f" else False
    if far is False:
        return subtract(multiply(multiply(2.0, x), y), 2 / ROOT_PI)
    t = reciprocal(square(where(far, x, 50.0)))
    series = multiply(-1 / ROOT_PI, multiply(t, horner(t, [1.0, -1.5, 3.75, -13.125])))
    return where(far, series, subtract(multiply(multiply(2.0, where(far, 0.0, x)), y), 2 / ROOT_PI))


@special("erfcx", partials=[_erfcx_slope], singular=True, c="erfcx({0})", samples=[*real, case(complex_normal(3))])
def erfcx(x, /):
    """exp(x²) erfc(x), which neither overflows nor vanishes for large x, element by element."""


@special(
    "expi", partials=[lambda y, x: divide(exp(x), x)], singular=True, c="expi({0})",
    samples=[*above_zero, case(above_one(3))],
)
def expi(x, /):
    """Exponential integral Ei, -∫₋ₓ^∞ exp(-t)/t dt as a principal value, element by element; -inf at 0."""


# ---------------------------------------------------------------------- normal distribution, logistic curve
def _density(x):
    return multiply(1 / math.sqrt(2 * math.pi), exp(multiply(-0.5, square(x))))


@special("ndtr", partials=[lambda y, x: _density(x)], singular=True, c="ndtr({0})", samples=real)
def ndtr(x, /):
    """Distribution function of the standard normal distribution, element by element."""


@special("ndtri", partials=[lambda y, p: divide(1.0, _density(y))], singular=True, c="ndtri({0})", samples=fractions)
def ndtri(p, /):
    """Quantile function of the standard normal distribution, the inverse of `ndtr`. p: array in [0, 1]; NaN outside."""


@special(
    "log_ndtr",
    partials=[lambda y, x: exp(subtract(multiply(-0.5, square(x)), add(y, 0.5 * math.log(2 * math.pi))))],
    singular=True,
    c="log_ndtr({0})", samples=[*real, case(lambda rng: rng.uniform(-40, -20, 3))],
)
def log_ndtr(x, /):
    """Logarithm of `ndtr` without underflow for x far below zero, element by element."""


@special(
    "logit", partials=[lambda y, p: divide(1.0, multiply(p, subtract(1.0, p)))], singular=True, c="logit({0})",
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
    c="xlogy({0}, {1})", samples=[*with_log, case(complex_normal(3), complex_normal(3))],
)
def xlogy(x, y, /):
    """x log(y), and 0 where x is 0 (even if y is), element by element. Convention: both slopes at (0, 0) count as 0."""


@special(
    "xlog1py",
    partials=[lambda z, x, y: _safe_log(log1p, x, y, -1), lambda z, x, y: _safe_ratio(x, add(1.0, y))],
    singular=True,
    c="xlog1py({0}, {1})", samples=with_log,
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
