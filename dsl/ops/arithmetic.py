"""Arithmetic: sums, products, quotients, rounding, extrema."""

from typing import Any

import numpy as np

from ...dispatch import Array, Layer
from ..avals import dtype_of, is_number
from ..card import composite, elementwise
from ..roots import Root, at_convention
from ..samples import case, complex_normal, integers, normal, positives
from .compare import equal, greater, less, where

two = [case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(), normal(2, 1)), case(normal(3), 2.0)]
two_complex = [case(complex_normal(3), normal(3)), case(normal(2, 1), complex_normal(3))]
one = [case(normal(3)), case(normal(2, 3)), case(normal())]


@elementwise(partials=[1, 1], c={"b": "{0} || {1}", "iufc": "{0} + {1}"}, samples=two + two_complex)
def add(x, y, /):
    """Sum of two arrays, element by element.

    x, y: arrays or numbers of any dtype, shapes that broadcast. Returns the promoted dtype and the common shape.
    Raises ShapeError if the shapes do not broadcast.

    >>> import polyad as pa
    >>> float(pa.add(1.0, 2.0))
    3.0
    """


@elementwise(partials=[1, -1], c="{0} - {1}", samples=two + two_complex)
def subtract(x, y, /):
    """Difference x - y, element by element. x, y: numeric arrays (not boolean), shapes that broadcast."""


@elementwise(partials=[lambda z, x, y: y, lambda z, x, y: x],
             c={"b": "{0} && {1}", "iuf": "{0} * {1}", "c": "multiply({0}, {1})"},
             samples=two + two_complex)  # fmt: skip
def multiply(x, y, /):
    """Product of two arrays, element by element. x, y: numeric arrays, shapes that broadcast."""


def convolved(op, k, a, b, start=0):
    """The sum of op(a(j), b(k - j)) for j from start to k: coefficient k of a product of Taylor series (Cauchy)."""
    y = None
    for j in range(start, k + 1):
        p, q = a(j), b(k - j)
        if p is not None and q is not None:
            term = op(p, q)
            y = term if y is None else add(y, term)
    return y


@multiply.rule("taylor")
def multiply_taylor(k, z, x, y):
    return convolved(multiply, k, x, y)


@elementwise(
    c={"f": "{0} / {1}", "c": "divide({0}, {1})"},
    samples=[
        case(normal(3), positives(3)), case(normal(2, 3), positives(3)), case(complex_normal(3), complex_normal(3)),
        case(normal(3), 4),
    ],
)  # fmt: skip
def divide(x, y, /):
    """Quotient x / y in floating point, element by element; integers are converted first, as in NumPy."""


@elementwise(
    kernel=None,
    c={"biuf": "unless_zero({0}, {0} * {1})", "c": "unless_zero({0}, multiply({0}, {1}))"},
    samples=[*two, *two_complex, case(lambda rng: np.array([0.0, 2.0, 0.0]), normal(3))],
)
def masked_product(x, y, /):
    """x * y, where a zero x gives zero even if y is infinite or not a number, element by element; for rules.

    Linear in x and in y, so that derivatives by a cotangent x that happens to be zero are those of the product.
    """


@masked_product.method
def masked_product_of_any(x: Array, y: Array, /):
    z = multiply(x, y)
    return where(equal(x, 0), np.zeros((), dtype_of(z)).item(), z)


@masked_product.rule("jvp")
def masked_product_jvp(dxs, z, x, y):
    dx, dy = dxs
    parts = [masked_product(a, b) for a, b in ((dx, y), (x, dy)) if a is not None and b is not None]
    return parts[0] if len(parts) == 1 else add(*parts)


masked_product.rule("vjp")([lambda ct, z, x, y: masked_product(ct, y), lambda ct, z, x, y: masked_product(x, ct)])


@elementwise(
    kernel=None,
    c={"biuf": "unless_zero({0}, {0} / {1})", "c": "unless_zero({0}, divide({0}, {1}))"},
    samples=[case(normal(3), positives(3)), case(lambda rng: np.array([0.0, 2.0]), positives(3, 2)),
             case(complex_normal(3), complex_normal(3))],
)  # fmt: skip
def masked_quotient(x, y, /):
    """x / y, where a zero x gives zero even over zero, element by element; for rules. Linear in x."""


@masked_quotient.method
def masked_quotient_of_any(x: Array, y: Array, /):
    return where(equal(x, 0), 0.0, divide(x, y))


@masked_quotient.rule("jvp")
def masked_quotient_jvp(dxs, z, x, y):
    dx, dy = dxs
    dz = None if dy is None else negative(masked_product(dy, masked_quotient(z, y)))
    if dx is None:
        return dz
    return masked_quotient(dx, y) if dz is None else add(masked_quotient(dx, y), dz)


masked_quotient.rule("vjp")(
    [
        lambda ct, z, x, y: masked_quotient(ct, y),
        lambda ct, z, x, y: negative(masked_product(ct, masked_quotient(z, y))),
    ]
)


def over_or_zero(x, y, slope_of=None):
    """x / y, and 0 where y is 0 (without dividing by it: no warning for what a convention decides). slope_of: the operation of
    which this is a slope, and that 0 a convention."""
    at_zero = equal(y, 0)
    if slope_of and isinstance(y, Layer):  # a slope that is differentiated again, or traced, or in lanes
        at_convention(slope_of, at_zero, y)
    return where(at_zero, 0.0, divide(x, where(at_zero, 1.0, y)))


def _over(dx, y):
    """dx / y, where a zero dx stays zero even over zero."""
    return divide(dx, y) if is_number(y) and y else masked_quotient(dx, y)


def quotient_taylor(k, z, x, y):
    """From x = z y: what is left of x(k) when the known coefficients of z have had their share."""
    known, rest = convolved(lambda q, p: masked_product(p, q), k, y, z, start=1), x(k)
    if known is not None:
        rest = negative(known) if rest is None else subtract(rest, known)
    return None if rest is None else _over(rest, y(0))


@divide.rule("jvp")
def divide_jvp(dxs, z, x, y):
    dx, dy = dxs
    dz = None if dy is None else negative(_over(multiply(_over(dy, y), x), y))  # not by z, which may be infinite where dy is 0
    if dx is None:
        return dz
    return _over(dx, y) if dz is None else add(_over(dx, y), dz)


divide.rule("vjp")(
    [
        lambda ct, z, x, y: _over(ct, y),
        lambda ct, z, x, y: negative(masked_product(ct, divide(z, y))),
    ]
)


divide.rule("taylor")(quotient_taylor)
masked_quotient.rule("taylor")(quotient_taylor)


@masked_product.rule("taylor")
def masked_product_taylor(k, z, x, y):
    return convolved(masked_product, k, x, y)


@elementwise(differentiable=False, c="floor_divide({0}, {1})", samples=[case(normal(3), positives(3)), case(integers(4), 3)])
def floor_divide(x, y, /):
    """Largest whole number not above x / y, element by element. Its derivative is zero where it has one."""


@elementwise(
    partials=[1, lambda z, x, y: negative(floor_divide(x, y))],
    c="remainder({0}, {1})",
    samples=[case(normal(3), positives(3)), case(normal(2, 3), positives(3)), case(integers(4), 3)],
)
def remainder(x, y, /):
    """x - y * floor(x / y): the remainder with the sign of y."""


@elementwise(partials=[-1], c="-{0}", samples=[*one, case(complex_normal(3))])
def negative(x, /):
    """-x, element by element. x: numeric array, not boolean."""


@elementwise(partials=[1], c="{0}", samples=[*one, case(complex_normal(3))])
def positive(x, /):
    """+x, element by element: a copy. x: numeric array, not boolean."""


@elementwise(
    partials=[lambda y, x: negative(multiply(y, y))],
    singular=True,
    c={"f": "1 / {0}", "c": "reciprocal({0})"},
    samples=[case(positives(3)), case(complex_normal(2, 2))],
)
def reciprocal(x, /):
    """1 / x, element by element. x: floating or complex array (integers are divided as whole numbers, as in NumPy)."""


@elementwise(partials=[lambda y, x: add(x, x)],
             c={"b": "{0}", "iuf": "{0} * {0}", "c": "multiply({0}, {0})"},
             samples=[*one, case(complex_normal(3))])  # fmt: skip
def square(x, /):
    """x * x, element by element."""


@elementwise(c={"iuf": "sign({0})"}, samples=[case(normal(3)), case(integers(3, low=-3, high=3)), case(complex_normal(3))])
def sign(x, /):
    """Sign, element by element: -1, 0 or 1 (constant under derivatives); x / |x| for complex x, 0 at 0 with slope 0."""


@elementwise(differentiable=False, c={"biu": "{0}", "f": "floor({0})"}, samples=one)
def floor(x, /):
    """Largest whole number not above x, element by element, in x's dtype."""


@elementwise(differentiable=False, c={"biu": "{0}", "f": "ceil({0})"}, samples=one)
def ceil(x, /):
    """Smallest whole number not below x, element by element, in x's dtype."""


@elementwise(differentiable=False, c={"biu": "{0}", "f": "trunc({0})"}, samples=one)
def trunc(x, /):
    """x without its fraction, element by element, in x's dtype."""


@elementwise(differentiable=False, c="rint({0})", samples=one)
def rint(x, /):
    """Nearest whole number, halves to even, element by element, in x's dtype."""


def selecting(op, ahead, tied: Any = equal):
    """Give an operation that returns one of two arguments its derivatives: all goes to the one that is `ahead(x, y)`, half to
    each where both are `tied(x, y)`. They are selected, not multiplied by 0: an argument that lost gets 0 whatever infinite
    slope comes before or after."""

    def mine(dx, x, y):
        first, ties = ahead(x, y), tied(x, y)
        if type(ties) is np.ndarray and not ties.any():  # the usual, which saves two operations
            return where(first, dx, 0.0)
        return where(first, dx, where(ties, multiply(0.5, dx), 0.0))

    @op.rule("jvp")
    def jvp(dxs, z, x, y):
        parts = [mine(d, a, b) for d, a, b in ((dxs[0], x, y), (dxs[1], y, x)) if d is not None]
        return parts[0] if len(parts) == 1 else add(*parts)

    op.rule("vjp")([lambda ct, z, x, y: mine(ct, x, y), lambda ct, z, x, y: mine(ct, y, x)])


@elementwise(
    c={"b": "{0} || {1}", "iufc": "maximum({0}, {1})"},
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), 0.0)],
)
def maximum(x, y, /):
    """The larger of x and y, element by element; NaN if either is. Equal arguments share the derivative, half each.

    Of 0.0 and -0.0 it is either one, as in NumPy.
    """


@elementwise(
    c={"b": "{0} && {1}", "iufc": "minimum({0}, {1})"},
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), 0.0)],
)
def minimum(x, y, /):
    """The smaller of x and y, element by element; NaN if either is. Equal arguments share the derivative, half each.

    Of 0.0 and -0.0 it is either one, as in NumPy.
    """


selecting(maximum, greater)
selecting(minimum, less)


@composite(kernel=None, numpy=("clip",), samples=[case(normal(3), -0.5, 0.5), case(normal(2, 3), None, 0.3)])
def clip(x, /, min=None, max=None):
    """x limited to the interval [min, max], element by element; a limit that is None does not apply.

    The derivative is 1 inside, 0 outside and ½ on a limit. min, max: numbers or arrays that broadcast against x.
    """
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


@elementwise(
    partials=[lambda z, x, y: over_or_zero(x, z, "hypot"), lambda z, x, y: over_or_zero(y, z, "hypot")],
    c="hypot({0}, {1})",
    samples=[case(normal(3), normal(3)), case(normal(2, 3), positives(3))],
)
def hypot(x, y, /):
    """sqrt(x**2 + y**2) without overflow, element by element, real. Both slopes at the origin are 0."""


def _sum_of_squares(x, y):
    return add(square(x), square(y))


# ---------------------------------------------------------------------- roots, and even functions of them
hypot.rule("root")(lambda x, y: Root(_sum_of_squares, (x, y)))
square.rule("of_root")(lambda roots, x: roots[0].whole())
negative.rule("of_root")(lambda roots, x: roots[0].times(-1.0))
divide.rule("of_root")(lambda roots, x, y: roots[0].times(y, divides=True) if roots[1] is None else None)


@multiply.rule("of_root")
def multiply_of_root(roots, x, y):
    a, b = roots
    if b is None:
        return a.times(y)
    if a is None:
        return b.times(x)
    if not a.same(b):
        return None
    b.remarks.clear()
    return a.scaled(a.square(), *a.factors, *b.factors)
