"""Trigonometric and hyperbolic functions and their inverses; angles in radians."""

from ...dispatch import Array, Layer
from ..avals import dtype_of
from ..card import elementwise
from ..roots import at_convention
from ..samples import above_one, case, complex_normal, normal, positives, unit
from .arithmetic import add, divide, hypot, multiply, negative, reciprocal, square, subtract
from .compare import equal, where
from .exponential import sqrt
from .tails import below_one

real = [case(normal(3)), case(normal(2, 3)), case(normal())]
with_complex = [*real, case(complex_normal(3))]
inside_unit = [case(unit(3)), case(unit(2, 3))]


def _to_one(x):
    """√(1 + x²), for real x without overflow."""
    return sqrt(add(square(x), 1.0)) if dtype_of(x).kind == "c" else hypot(x, 1.0)


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
    partials=[lambda y, x: reciprocal(sqrt(below_one(x)))],
    singular=True,
    c="asin({0})",
    samples=inside_unit,
)
def arcsin(x, /):
    """Inverse sine of each element, in [-π/2, π/2]; NaN outside [-1, 1]."""


@elementwise(
    partials=[lambda y, x: negative(reciprocal(sqrt(below_one(x))))],
    singular=True,
    c="acos({0})",
    samples=inside_unit,
)
def arccos(x, /):
    """Inverse cosine of each element, in [0, π]; NaN outside [-1, 1]."""


def _arctan_slope(y, x):
    """1 / (1 + x²)."""
    return reciprocal(add(square(x), 1.0)) if dtype_of(x).kind == "c" else square(reciprocal(_to_one(x)))


@elementwise(partials=[_arctan_slope], c="atan({0})", samples=with_complex)
def arctan(x, /):
    """Inverse tangent of each element, in [-π/2, π/2]."""


def _over_norm(a, y, x):
    """a / (y² + x²) without over- and underflow of squares, where both are zero: 0."""
    r = hypot(y, x)
    origin = equal(r, 0)
    if isinstance(r, Layer):
        at_convention("arctan2", origin, r)
    r = where(origin, 1.0, r)
    return where(origin, 0.0, divide(divide(a, r), r))


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


@elementwise(
    partials=[lambda s, x: multiply(multiply(-2.0, tanh(x)), s)], kernel=None, numpy=(),
    spelled="dsl.ops.trigonometric.tanh_slope", c={"f": "tanh_slope({0})"}, samples=[case(normal(3)), case(normal(2, 3))],
)  # fmt: skip
def tanh_slope(x, /):
    """The slope of tanh, 1 / cosh(x)², element by element; for rules, since 1 - tanh(x)² is 0 where tanh rounds to 1."""


@tanh_slope.method
def tanh_slope_of_any(x: Array, /):
    return square(reciprocal(cosh(x)))


def _tanh_slope(y, x):
    return subtract(1.0, square(y)) if dtype_of(x).kind == "c" else tanh_slope(x)


@elementwise(partials=[_tanh_slope], c="tanh({0})", samples=with_complex)
def tanh(x, /):
    """Hyperbolic tangent of each element."""


@elementwise(partials=[lambda y, x: reciprocal(_to_one(x))], c="asinh({0})", samples=with_complex)
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


@elementwise(partials=[lambda y, x: reciprocal(below_one(x))], singular=True, c="atanh({0})", samples=inside_unit)
def arctanh(x, /):
    """Inverse hyperbolic tangent of each element; NaN outside [-1, 1]."""
