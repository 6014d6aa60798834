"""Bessel functions of any order, and relatives of the gamma function that no other formula of ours needs.

Their kernels are SciPy's (`special.<name>`, on a device its library's); recurrences: DLMF 10.6.1 and 10.29.1.
"""

import math

from ...dispatch import ShapeError
from ..card import composite
from ..samples import above_one, case, positives
from .arithmetic import add, divide, multiply, negative, sign, subtract
from .compare import less, where
from .gamma import digamma, gamma, gammaln
from .special import no_slope, special
from .trigonometric import cos, sin

NO_FORM = "no closed form is known"
of_order = [case(2.0, above_one(3)), case(0.5, positives(2, 3)), case(3, above_one())]
above_zero = [case(positives(3)), case(above_one(2, 3)), case(positives())]


def _recurrence(name, below, above, further=None):
    """Partials of a function of (order, x): half of below × that of order - 1 plus above × that of order + 1, plus more."""

    def slope(y, v, x):
        of = OPERATIONS[name]
        halves = multiply(0.5, add(multiply(below, of(subtract(v, 1), x)), multiply(above, of(add(v, 1), x))))
        return halves if further is None else add(halves, further(y, x))

    return [no_slope(name, "the order", NO_FORM), slope]


def _of_order(name, *recurrence):
    """Card of a Bessel function of (order, x)."""
    facts = {"singular": True, "samples": of_order, "no_rule": {"jvp": f"by the order: {NO_FORM}"}}
    return special(name, partials=_recurrence(name, *recurrence), **facts)


@_of_order("jv", 1, -1)
def jv(v, x, /):
    """Bessel function of the first kind, of order v at x, element by element. v has no derivative. x: real or complex."""


@_of_order("yv", 1, -1)
def yv(v, x, /):
    """Bessel function of the second kind, of order v at x > 0, element by element; -inf at 0. v has no derivative."""


@_of_order("iv", 1, 1)
def iv(v, x, /):
    """Modified Bessel function of the first kind, of order v at x, element by element. v has no derivative."""


@_of_order("kv", -1, -1)
def kv(v, x, /):
    """Modified Bessel function of the second kind, of order v at x > 0, element by element. v has no derivative."""


@_of_order("ive", 1, 1, lambda y, x: negative(multiply(sign(x), y)))
def ive(v, x, /):
    """exp(-|x|) `iv(v, x)`, which does not overflow, element by element. x: real array. v has no derivative."""


@_of_order("kve", -1, -1, lambda y, x: y)
def kve(v, x, /):
    """exp(x) `kv(v, x)`, which does not underflow, element by element. v has no derivative."""


OPERATIONS = {"jv": jv, "yv": yv, "iv": iv, "kv": kv, "ive": ive, "kve": kve}


@special("y0", partials=[lambda y, x: negative(y1(x))], singular=True, c="y0({0})", samples=above_zero)
def y0(x, /):
    """Bessel function of the second kind of order 0, element by element. x: real array above 0; -inf at 0, NaN below."""


@special("y1", partials=[lambda y, x: subtract(y0(x), divide(y, x))], singular=True, c="y1({0})", samples=above_zero)
def y1(x, /):
    """Bessel function of the second kind of order 1, element by element. x: real array above 0; -inf at 0, NaN below."""


# ---------------------------------------------------------------------- relatives of the gamma function
@special("gammasgn", differentiable=False, samples=[case(positives(3)), case(lambda rng: rng.uniform(-2.9, -0.1, (2, 3)))])
def gammasgn(x, /):
    """Sign of the gamma function, element by element: 1 above zero, and by turns below. Its derivative is zero."""


def _rgamma_slope(y, x):
    """Below ½ from 1/Γ(x) = sin(πx) Γ(1 - x) / π, which is smooth at the poles of Γ, above it -ψ(x) / Γ(x)."""
    left = less(x, 0.5)
    mirrored, angle = subtract(1.0, where(left, x, 0.0)), multiply(math.pi, where(left, x, 0.0))
    below = multiply(gamma(mirrored), subtract(cos(angle), multiply(divide(sin(angle), math.pi), digamma(mirrored))))
    return where(left, below, negative(multiply(digamma(where(left, 1.0, x)), y)))


@special("rgamma", partials=[_rgamma_slope], samples=[*above_zero, case(lambda rng: rng.uniform(-2.8, -2.2, 3))])
def rgamma(x, /):
    """1 / Γ(x), element by element: 0 with a finite slope where Γ has its poles. x: real array."""


@composite(kernel=None, numpy=(), samples=[case(lambda rng: rng.uniform(3, 5, (2, 3)), 3), case(above_one(3), 1)])
def multigammaln(a, d, /):
    """Logarithm of the multivariate gamma function of dimension d, element by element. a: real array above (d - 1) / 2.

    log Γ_d(a) = d (d - 1) / 4 · log π + Σ log Γ(a - j / 2) over j below d. d: positive int. Raises ShapeError.
    """
    if not hasattr(d, "__index__") or d < 1:
        raise ShapeError(f"multigammaln: the dimension is {d!r}; give an integer of at least 1")
    y = d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        y = add(y, gammaln(subtract(a, 0.5 * j)))
    return y
