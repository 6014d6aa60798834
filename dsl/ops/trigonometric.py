"""Trigonometric and hyperbolic functions and their inverses; angles in radians."""

from ..card import above_one, case, complex_normal, elementwise, normal, positives, unit
from .arithmetic import add, multiply, negative, over_or_zero, reciprocal, square, subtract
from .exponential import sqrt

real = [case(normal(3)), case(normal(2, 3)), case(normal())]
with_complex = [*real, case(complex_normal(3))]
inside_unit = [case(unit(3)), case(unit(2, 3))]


@elementwise(partials=[lambda y, x: cos(x)], c="sin({0})", samples=with_complex)
def sin(x, /):
    """Sine of each element.

    x: floating or complex array, any shape, radians. Returns x's shape and dtype. Raises DTypeError for other dtypes than
    numbers.

    >>> import polyad as pa
    >>> float(pa.sin(0.0))
    0.0
    """


@elementwise(partials=[lambda y, x: negative(sin(x))], c="cos({0})", samples=with_complex)
def cos(x, /):
    """Cosine of each element; radians."""


@elementwise(partials=[lambda y, x: add(multiply(y, y), 1.0)], c="tan({0})", samples=with_complex)
def tan(x, /):
    """Tangent of each element; radians."""


@elementwise(
    partials=[lambda y, x: reciprocal(sqrt(subtract(1.0, square(x))))],
    singular=True,
    c="asin({0})",
    samples=inside_unit,
)
def arcsin(x, /):
    """Inverse sine of each element, in [-π/2, π/2]; NaN outside [-1, 1]."""


@elementwise(
    partials=[lambda y, x: negative(reciprocal(sqrt(subtract(1.0, square(x)))))],
    singular=True,
    c="acos({0})",
    samples=inside_unit,
)
def arccos(x, /):
    """Inverse cosine of each element, in [0, π]; NaN outside [-1, 1]."""


@elementwise(partials=[lambda y, x: reciprocal(add(square(x), 1.0))], c="atan({0})", samples=with_complex)
def arctan(x, /):
    """Inverse tangent of each element, in [-π/2, π/2]."""


def _over_norm(a, y, x):
    """a / (y² + x²), where both are zero: 0."""
    return over_or_zero(a, add(square(y), square(x)))


@elementwise(
    partials=[lambda z, y, x: _over_norm(x, y, x), lambda z, y, x: negative(_over_norm(y, y, x))],
    c="atan2({0}, {1})",
    samples=[case(normal(3), normal(3)), case(normal(2, 3), positives(3)), case(normal(3), 0.5)],
)
def arctan2(y, x, /):
    """Angle of the point (x, y), element by element, in [-π, π]. Real. Both slopes at the origin count as 0."""


@elementwise(partials=[lambda y, x: cosh(x)], singular=True, c="sinh({0})", samples=with_complex)
def sinh(x, /):
    """Hyperbolic sine of each element."""


@elementwise(partials=[lambda y, x: sinh(x)], singular=True, c="cosh({0})", samples=with_complex)
def cosh(x, /):
    """Hyperbolic cosine of each element."""


@elementwise(partials=[lambda y, x: subtract(1.0, multiply(y, y))], c="tanh({0})", samples=with_complex)
def tanh(x, /):
    """Hyperbolic tangent of each element."""


@elementwise(partials=[lambda y, x: reciprocal(sqrt(add(square(x), 1.0)))], c="asinh({0})", samples=with_complex)
def arcsinh(x, /):
    """Inverse hyperbolic sine of each element."""


@elementwise(
    partials=[lambda y, x: reciprocal(multiply(sqrt(subtract(x, 1.0)), sqrt(add(x, 1.0))))],
    singular=True,
    c="acosh({0})",
    samples=[case(above_one(3)), case(above_one(2, 3))],
)
def arccosh(x, /):
    """Inverse hyperbolic cosine of each element, not negative; NaN below 1."""


@elementwise(
    partials=[lambda y, x: reciprocal(subtract(1.0, square(x)))], singular=True, c="atanh({0})", samples=inside_unit
)
def arctanh(x, /):
    """Inverse hyperbolic tangent of each element; NaN outside [-1, 1]."""
