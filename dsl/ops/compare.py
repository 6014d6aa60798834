"""Comparison, logic, tests of numbers, and the choice between two arrays by a condition."""

from ..card import elementwise
from ..samples import booleans, case, complex_normal, integers, normal

two = [case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(integers(4, high=3), integers(4, high=3))]
logic = [case(booleans(4), booleans(4)), case(booleans(2, 3), booleans(3)), case(integers(4, high=2), booleans(4))]
one = [case(normal(3)), case(normal(2, 3)), case(complex_normal(2))]


@elementwise(
    differentiable=False,
    c={"biuf": "{0} == {1}", "c": "equal({0}, {1})"},
    samples=[*two, case(complex_normal(2), complex_normal(2))],
)
def equal(x, y, /):
    """x == y, element by element, boolean. NaN equals nothing."""


@elementwise(differentiable=False, c={"biuf": "{0} != {1}", "c": "!equal({0}, {1})"}, samples=two)
def not_equal(x, y, /):
    """x != y, element by element, boolean."""


@elementwise(differentiable=False, c={"biuf": "{0} < {1}", "c": "less({0}, {1})"}, samples=two)
def less(x, y, /):
    """x < y, element by element, boolean. x, y: real arrays."""


@elementwise(differentiable=False, c={"biuf": "{0} <= {1}", "c": "less_equal({0}, {1})"}, samples=two)
def less_equal(x, y, /):
    """x <= y, element by element, boolean. x, y: real arrays."""


@elementwise(differentiable=False, c={"biuf": "{0} > {1}", "c": "less({1}, {0})"}, samples=two)
def greater(x, y, /):
    """x > y, element by element, boolean. x, y: real arrays."""


@elementwise(differentiable=False, c={"biuf": "{0} >= {1}", "c": "less_equal({1}, {0})"}, samples=two)
def greater_equal(x, y, /):
    """x >= y, element by element, boolean. x, y: real arrays."""


@elementwise(
    differentiable=False,
    c={"b": "{0} & {1}", "iuf": "({0} != 0) & ({1} != 0)", "c": "nonzero({0}) & nonzero({1})"},
    samples=logic,
)
def logical_and(x, y, /):
    """Test whether both are true (non-zero), element by element."""


@elementwise(
    differentiable=False,
    c={"b": "{0} | {1}", "iuf": "({0} != 0) | ({1} != 0)", "c": "nonzero({0}) | nonzero({1})"},
    samples=logic,
)
def logical_or(x, y, /):
    """Test whether one or both are true (non-zero), element by element."""


@elementwise(differentiable=False, c={"biuf": "!{0} != !{1}", "c": "nonzero({0}) != nonzero({1})"}, samples=logic)
def logical_xor(x, y, /):
    """Test whether exactly one is true (non-zero), element by element."""


@elementwise(
    differentiable=False, c={"biuf": "!{0}", "c": "!nonzero({0})"}, samples=[case(booleans(4)), case(integers(2, 2, high=2))]
)
def logical_not(x, /):
    """Test whether the element is false (zero)."""


@elementwise(differentiable=False, c="isnan({0})", samples=one)
def isnan(x, /):
    """Test whether the element is not a number."""


@elementwise(differentiable=False, c="isinf({0})", samples=one)
def isinf(x, /):
    """Test whether the element is infinite, of either sign."""


@elementwise(differentiable=False, c="isfinite({0})", samples=one)
def isfinite(x, /):
    """Test whether the element is neither infinite nor not a number."""


@elementwise(
    samples=[
        case(booleans(3), normal(3), normal(3)),
        case(booleans(2, 3), normal(3), normal(2, 1)),
        case(booleans(3), normal(3), 0.0),
        case(booleans(3), complex_normal(3), normal(3)),
    ],
    c={"biuf": "{0} ? {1} : {2}", "c": "select({0}, {1}, {2})"},
)
def where(condition, x, y, /):
    """x where the condition is true, y elsewhere, element by element.

    condition: boolean array. x, y: arrays or numbers; all shapes broadcast. The branch not taken gets a zero derivative even
    where its own derivative is infinite or not a number.
    """


@where.rule("jvp")
def where_jvp(dxs, z, condition, x, y):
    _, dx, dy = dxs
    return where(condition, 0.0 if dx is None else dx, 0.0 if dy is None else dy)


where.rule("vjp")([None, lambda ct, z, c, x, y: where(c, ct, 0.0), lambda ct, z, c, x, y: where(c, 0.0, ct)])
