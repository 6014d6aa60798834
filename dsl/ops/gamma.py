"""The gamma function and its kin: logarithms, derivatives, beta functions, incomplete integrals.

Their kernels are SciPy's; derivatives that no library has (by the shape parameter of an incomplete gamma function) are
`gammainc_da`, a series of our own.
"""

import math
from typing import Any

import numpy as np

from ...dispatch import DTypeError
from ..avals import dtype_of, is_number, number_kind
from ..card import composite, elementwise
from ..samples import above_one, case, integers, positives
from .arithmetic import add, divide, multiply, negative, remainder, subtract
from .compare import equal, where
from .complex import astype
from .exponential import exp, log
from .special import above_zero, fraction, no_slope, special, xlog1py, xlogy

pairs = [case(positives(3), positives(3)), case(positives(2, 3), positives(3)), case(above_one(3), 2.5)]
negatives = case(lambda rng: rng.uniform(-0.9, -0.1, 3))


@special("gammaln", partials=[lambda y, x: digamma(x)], singular=True, c="lgamma({0})", samples=[*above_zero, negatives])
def gammaln(x, /):
    """log |Γ(x)|, element by element; +inf at 0 and the negative whole numbers. x: real array."""


@special(
    "gamma",
    partials=[lambda y, x: multiply(y, digamma(x))],
    singular=True,
    c="tgamma({0})",
    samples=[*above_zero, negatives],
)
def gamma(x, /):
    """Γ(x), element by element; NaN at the negative whole numbers. Random numbers: `polyad.random.gamma`."""


@special("digamma", partials=[lambda y, x: polygamma(1, x)], singular=True, c="digamma({0})", samples=[*above_zero, negatives])
def digamma(x, /):
    """Derivative of log Γ(x), element by element. x: real array (complex without derivative)."""


@composite(
    kernel=None,
    numpy=(),
    samples=[case(1, positives(3)), case(0, positives(2, 3)), case(3, positives()), case(integers(3, high=3), positives(3))],
)
def polygamma(n, x, /):
    """n-th derivative of `digamma`, element by element (n = 0: digamma itself).

    n: integer array or int, at least 0; it has no derivative. x: real array. Shapes broadcast. Arrays of
    orders promote with x as usual, and that is the precision of the result. Raises DTypeError, ShapeError.
    """
    if dtype_of(n).kind not in "iu":
        raise DTypeError(f"polygamma: the order n must be an integer, not of dtype {dtype_of(n)}; convert it with .astype")
    if is_number(n):
        if n == 0:
            return digamma(x)
        return multiply((-1.0) ** (n + 1) * math.factorial(n), zeta(n + 1.0, x))
    dtype = dtype_of(x) if number_kind(n) else np.result_type(dtype_of(n), dtype_of(x))  # a number promotes nothing
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    dtype = np.promote_types(dtype, np.float32)
    x = astype(x, dtype=dtype)
    signed = multiply(subtract(multiply(2.0, remainder(n, 2)), 1.0), gamma(add(n, 1.0)))
    at_zero = equal(n, 0)
    y = where(at_zero, digamma(x), multiply(signed, zeta(add(where(at_zero, 1, n), 1.0), x)))
    return astype(y, dtype=dtype)


_by_order = "the derivative of a zeta function by its exponent has no kernel"


@special(
    "zeta",
    partials=[
        no_slope("zeta", "x", _by_order),
        lambda y, x, q: negative(multiply(x, zeta(add(x, 1.0), q))),  # pyright: ignore  the slope is by itself
    ],
    singular=True,
    no_rule={"jvp": f"by x alone: {_by_order}"},
    c="zeta({0}, {1})",
    samples=[case(2.0, positives(3)), case(3.5, positives(2, 3))],
)
def zeta(x, q, /):
    """Hurwitz zeta function, Σ (k + q)⁻ˣ over k = 0, 1, …, element by element; q = 1: Riemann's.

    x, q: real arrays, x > 1, shapes broadcast. Differentiable by q; by x it raises MissingRuleError (no kernel is known).
    Raises ShapeError, DTypeError.
    """


# ---------------------------------------------------------------------- beta functions
def _beta_slopes(times):
    by = lambda a, b: subtract(digamma(a), digamma(add(a, b)))
    return [lambda y, a, b: times(y, by(a, b)), lambda y, a, b: times(y, by(b, a))]


@special("betaln", partials=_beta_slopes(lambda y, d: d), singular=True, c="betaln({0}, {1})", samples=pairs)
def betaln(a, b, /):
    """log |B(a, b)| = log |Γ(a) Γ(b) / Γ(a + b)|, element by element. a, b: real arrays, shapes broadcast."""


@special("beta", partials=_beta_slopes(multiply), singular=True, c="beta({0}, {1})", samples=pairs)
def beta(a, b, /):
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b), element by element. Random numbers: `polyad.random.beta`."""


def _betainc_slope(y, a, b, x):
    return exp(subtract(add(xlogy(subtract(a, 1.0), x), xlog1py(subtract(b, 1.0), negative(x))), betaln(a, b)))


_series = "no library has a kernel for it"


@special(
    "betainc",
    partials=[no_slope("betainc", "a", _series), no_slope("betainc", "b", _series), _betainc_slope],
    singular=True,
    no_rule={"jvp": f"by a and b: {_series}"},
    c="betainc({0}, {1}, {2})",
    samples=[case(2.0, 1.5, fraction(3)), case(0.5, 3.0, fraction(2, 3))],
)
def betainc(a, b, x, /):
    """Regularized incomplete beta function, the distribution function of the beta distribution, element by element.

    a, b: positive arrays; x: array in [0, 1]; shapes broadcast. Differentiable by x; by a and b it raises MissingRuleError.
    Raises ShapeError, DTypeError.
    """


# ---------------------------------------------------------------------- incomplete gamma functions
def gamma_density(a, x):
    """Density of the gamma distribution of shape a at x: the derivative of `gammainc` by x."""
    return exp(subtract(subtract(xlogy(subtract(a, 1.0), x), x), gammaln(a)))


def bell(slopes):
    """The n-th derivative of exp(L), over exp(L), from the derivatives L', L'', … (n of them): a Bell polynomial."""
    found: list[Any] = [1.0]
    for k in range(len(slopes)):
        terms = [multiply(math.comb(k, i), multiply(found[k - i], slopes[i])) for i in range(k + 1)]
        total = terms[0]
        for term in terms[1:]:
            total = add(total, term)
        found.append(total)
    return found[-1]


def _density_da(a, x, order):
    """The derivative of this order by a of the density."""
    slopes = [subtract(log(x), digamma(a)), *[negative(polygamma(k, a)) for k in range(1, order)]]
    return multiply(gamma_density(a, x), bell(slopes))


shapes = [case(positives(3), positives(3)), case(above_one(2, 3), positives(3)), case(2.5, positives(3))]


@special(
    "gammainc",
    partials=[lambda y, a, x: gammainc_da(a, x), lambda y, a, x: gamma_density(a, x)],
    singular=True,
    c="gammainc({0}, {1})",
    samples=shapes,
)
def gammainc(a, x, /):
    """Regularized lower incomplete gamma function: the distribution function of the gamma distribution of shape a at x.

    a, x: real arrays, not negative, shapes broadcast. Raises ShapeError, DTypeError.
    """


@special(
    "gammaincc",
    partials=[lambda y, a, x: negative(gammainc_da(a, x)), lambda y, a, x: negative(gamma_density(a, x))],
    singular=True,
    c="gammaincc({0}, {1})",
    samples=shapes,
)
def gammaincc(a, x, /):
    """1 - gammainc(a, x) without cancellation, element by element."""


@elementwise(
    partials=[
        lambda y, a, x, order=1: gammainc_da(a, x, order=order + 1),
        lambda y, a, x, order=1: _density_da(a, x, order),
    ],
    singular=True,
    kernel=None,
    numpy=(),
    samples=[*shapes, case(positives(3), positives(3), order=2)],
)
def gammainc_da(a, x, /, order=1):
    """Derivative of `gammainc` by its shape a, element by element, of any order.

    a, x: real arrays, not negative, shapes broadcast. order: int, at least 1. By the series of P(a, x) in powers of x,
    differentiated term by term; for x above a + 1, and above 10000, by integrating the derivative of the density, whose error
    is relative: it is small in the tail, too. Raises ShapeError, DTypeError.
    """


def _quantile_slope(a, x):
    """Return the derivative of the quantile x by a at a fixed probability; 0 at the quantile 0."""
    at_zero = equal(x, 0)
    inside = where(at_zero, 1.0, x)
    return where(at_zero, 0.0, negative(divide(gammainc_da(a, inside), gamma_density(a, inside))))


@special(
    "gammaincinv",
    partials=[
        lambda x, a, p: _quantile_slope(a, x),
        lambda x, a, p: divide(1.0, gamma_density(a, x)),
    ],
    singular=True,
    c="gammaincinv({0}, {1})",
    samples=[case(positives(3), fraction(3)), case(above_one(2, 3), fraction(3))],
)
def gammaincinv(a, p, /):
    """Quantile function of the gamma distribution: the x at which gammainc(a, x) is p, element by element.

    a: positive array; p: array in [0, 1]; shapes broadcast. Its slope by a is -gammainc_da / density. Raises ShapeError,
    DTypeError.
    """
