"""Slopes in the tails of functions, made so that rounding takes nothing from them: differences of squares that cancel, Gaussian
curves, whose exponent x² is large where it is rounded, and the scaled error function, whose slope has two terms that cancel.

Those that derivatives of higher order go through are operations: what rounding takes is no part of their derivatives.
"""

import math

import numpy as np

from ...dispatch import Array
from ..avals import dtype_of
from ..card import elementwise
from ..samples import case, normal, unit
from .arithmetic import add, clip, divide, multiply, reciprocal, square, subtract
from .compare import greater, where
from .exponential import exp

ROOT_PI = math.sqrt(math.pi)


@elementwise(
    partials=[lambda y, x: multiply(-2.0, x)], kernel=None, numpy=(), spelled="dsl.ops.tails.below_one",
    c={"f": "(1 - {0}) * (1 + {0})", "c": "1 - multiply({0}, {0})"}, samples=[case(unit(3)), case(unit(2, 3))],
)  # fmt: skip
def below_one(x, /):
    """1 - x², element by element, without cancellation near ±1; for rules."""


@below_one.method
def below_one_of_any(x: Array, /):
    return multiply(subtract(1.0, x), add(1.0, x))


@elementwise(
    partials=[lambda y, x, c: multiply(multiply(multiply(2.0, c), y), x), lambda y, x, c: multiply(square(x), y)],
    kernel=None, numpy=(), spelled="dsl.ops.tails.bell", c={"f": "bell({0}, {1})", "c": "exp({1} * multiply({0}, {0}))"},
    samples=[case(normal(3), -1.0), case(normal(2, 3), -0.5), case(normal(3), -0.5)],
)  # fmt: skip
def bell(x, c, /):
    """exp(c x²), element by element, with what rounding takes from x²; for rules. c: -1 or -½."""


@bell.method
def bell_of_any(x: Array, c: Array, /):
    """x in two halves, of which the squares are exact (T. J. Dekker, Numer. Math. 18, 1971)."""
    dtype = dtype_of(x)
    if dtype.kind != "f":
        return exp(multiply(c, square(x)))
    x = clip(x, -40.0, 40.0)  # beyond, all is 0, and the products below would be infinite
    wide = multiply(2.0 ** (np.finfo(dtype).nmant // 2 + 1) + 1, x)
    high = subtract(wide, subtract(wide, x))
    low, whole = subtract(x, high), square(x)
    rest = add(subtract(square(high), whole), multiply(low, add(high, x)))
    y = exp(multiply(c, whole))
    return add(y, multiply(y, multiply(c, rest)))


# minimax in t = 1/x² < 1 / 1.5²: -√π x² erfcx'(x), a quotient of polynomials, to 2**-54
ABOVE = (
    1.0, 46.88205531099355, 845.5978627025764, 7541.285754958015, 35618.92630667419, 88732.97447494934, 109604.36853451576,
    58162.0772176076, 9423.747592122507, 54.94347171288548,
)  # fmt: skip
BELOW = (
    1.0, 48.38205531099355, 914.4209456690669, 8744.609466045347, 45882.71393546132, 134233.81339571677, 213265.04801837972,
    171137.03290236328, 59682.79371724266, 6313.5418901545845,
)  # fmt: skip


def horner(t, coefficients):
    """The polynomial in t with these coefficients, lowest first."""
    y = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        y = add(multiply(y, t), c)
    return y


def erfcx_slope(y, x):
    """2xy - 2/√π, and a quotient of polynomials where that cancels."""
    plain = lambda x: subtract(multiply(multiply(2.0, x), y), 2 / ROOT_PI)
    if dtype_of(x).kind != "f":
        return plain(x)
    far = greater(x, 1.5)
    t = square(reciprocal(where(far, x, 1.5)))
    tail = divide(multiply(multiply(-1 / ROOT_PI, t), horner(t, ABOVE)), horner(t, BELOW))
    return where(far, tail, plain(where(far, 0.0, x)))
