"""Exponentials, logarithms, powers and roots."""

from ...dispatch import Layer, isa
from ..avals import dtype_of, is_number
from ..card import elementwise
from ..roots import Root, at_convention, itself
from ..samples import above_one, case, complex_normal, integers, normal, positives, unit
from .arithmetic import add, divide, masked_product, multiply, over_or_zero, subtract
from .compare import equal, greater_equal, less, logical_and, where

real = [case(normal(3)), case(normal(2, 3)), case(normal())]
above_zero = [case(positives(3)), case(positives(2, 3))]


# exponentials are singular too: where they overflow, a zero cotangent stays zero
@elementwise(partials=[lambda y, x: y], singular=True, c="exp({0})", samples=[*real, case(complex_normal(3))])
def exp(x, /):
    """e to the power x, element by element. x: floating or complex array."""


@elementwise(partials=[lambda y, x: multiply(0.6931471805599453, y)], singular=True, c="exp2({0})", samples=real)
def exp2(x, /):
    """2 to the power x, element by element."""


@elementwise(partials=[lambda y, x: exp(x)], singular=True, c="expm1({0})", samples=[*real, case(complex_normal(3))])
def expm1(x, /):
    """exp(x) - 1 without cancellation near 0, element by element."""


@elementwise(
    partials=[lambda y, x: divide(1.0, x)], singular=True, c="log({0})", samples=[*above_zero, case(complex_normal(3))]
)
def log(x, /):
    """Natural logarithm, element by element. Real x below zero gives NaN; complex x the principal branch."""


@elementwise(partials=[lambda y, x: divide(1 / 0.6931471805599453, x)], singular=True, c="log2({0})", samples=above_zero)
def log2(x, /):
    """Logarithm to base 2, element by element."""


@elementwise(partials=[lambda y, x: divide(1 / 2.302585092994046, x)], singular=True, c="log10({0})", samples=above_zero)
def log10(x, /):
    """Logarithm to base 10, element by element."""


@elementwise(
    partials=[lambda y, x: divide(1.0, add(x, 1.0))],
    singular=True,
    c="log1p({0})",
    samples=[case(unit(3)), case(positives(2, 3)), case(complex_normal(3))],
)
def log1p(x, /):
    """log(1 + x) without cancellation near 0, element by element."""


@elementwise(
    partials=[lambda y, x: over_or_zero(0.5, y, "sqrt")],
    singular=True,
    c="sqrt({0})",
    samples=[*above_zero, case(complex_normal(2, 2))],
)
def sqrt(x, /):
    """Square root, element by element: the branch with non-negative real part. Negative real x gives NaN.

    Convention: the slope at 0 counts as 0, so that sqrt(sum(x**2)) has the finite gradient 0 at x = 0.
    """


sqrt.rule("root")(lambda x: Root(itself, (x,)))


@elementwise(
    partials=[lambda y, x: over_or_zero(multiply(1 / 3, y), x, "cbrt")],
    c="cbrt({0})",
    samples=[case(positives(3)), case(above_one(2, 3))],
)
def cbrt(x, /):
    """Real cube root, element by element. Convention: the slope at 0 counts as 0."""


@elementwise(
    c="pow({0}, {1})",
    samples=[
        case(positives(3), normal(3)), case(positives(2, 3), normal(3)), case(normal(3), 2), case(normal(3), 3.0),
        case(complex_normal(3), complex_normal(3)), case(positives(3), -1), case(normal(3), integers(3, high=4)),
    ],
)  # fmt: skip
def power(x, y, /):
    """x to the power y, element by element. Real x below zero with fractional y gives NaN, as in NumPy.

    Conventions at x = 0: x**0 is 1 with slope 0, and the slope of x**y counts as 0 for 0 < y < 1.
    """


def _power_x(x, y):
    """Derivative by x. y x**(y-1) needs no special case at y = 0, so that mixed derivatives are right there."""
    if is_number(y) and y == 2:
        return multiply(2, x)
    slope = lambda base: multiply(y, power(base, y - 1 if is_number(y) else subtract(y, 1)))
    if is_number(y) and (isa(y, complex) or not 0 <= y < 1):
        return slope(x)
    if is_number(y):
        flat = equal(x, 0)
    elif dtype_of(y).kind == "c":
        flat = logical_and(equal(x, 0), equal(y, 0))
    else:
        flat = logical_and(equal(x, 0), logical_and(less(y, 1), greater_equal(y, 0)))
    if isinstance(x, Layer) and is_number(y) and 0 < y < 1:
        at_convention("power", flat, x)
    return where(flat, 0.0, slope(where(flat, 1.0, x)))


def _power_y(z, x):
    """Derivative by y: z log(x), with the limit 0 where the base is 0."""
    return multiply(z, log(where(equal(x, 0), 1.0, x)))


def _times_slope(dx, x, y):
    if type(y) in (int, float) and 1 <= y < 64 and y == int(y):  # a slope that is finite wherever x is
        return dx if y == 1 else multiply(dx, multiply(y, x if y == 2 else power(x, y - 1)))
    return masked_product(dx, _power_x(x, y))


@power.rule("jvp")
def power_jvp(dxs, z, x, y):
    dx, dy = dxs
    parts = [] if dx is None else [_times_slope(dx, x, y)]
    if dy is not None:
        parts.append(masked_product(dy, _power_y(z, x)))
    return parts[0] if len(parts) == 1 else add(*parts)


power.rule("vjp")(
    [
        lambda ct, z, x, y: _times_slope(ct, x, y),
        lambda ct, z, x, y: masked_product(ct, _power_y(z, x)),
    ]
)


@power.rule("root")
def power_root(x, y):
    return Root(itself, (x,)) if is_number(y) and y == 0.5 else None


@power.rule("of_root")
def power_of_root(roots, x, y):
    """Powers from 2 on; of the root alone, or even ones."""
    root = roots[0]
    if root is None or roots[1] is not None or not is_number(y) or type(y) is complex or y < 2:
        return power_root(x, y)
    if y % 2 == 0:
        return root.whole() if y == 2 else power(root.whole(), int(y) // 2)
    return None if root.factors else power(root.square(), y / 2)


@power.rule("taylor")
def power_taylor(k, z, x, y):
    """For a number y, from z' x = y z x': k x(0) z(k) = Σ (y j - (k - j)) x(j) z(k - j). Without a division at zero for
    whole y, there by the jvp rule."""
    p = y(0)
    if not is_number(p) or (p == int(p.real) and 0 <= p.real < 64 if isa(p, complex) else p == int(p) and 0 <= p < 64):
        return NotImplemented
    total = None
    for j in range(1, k + 1):
        if x(j) is not None and z(k - j) is not None:
            term = multiply((p * j - (k - j)) / k, multiply(x(j), z(k - j)))
            total = term if total is None else add(total, term)
    return None if total is None else over_or_zero(total, x(0))
