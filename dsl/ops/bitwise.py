"""Operations on the bits of integers; on booleans they are the logical operations, as in NumPy."""

from ..card import elementwise
from ..samples import booleans, case, integers

two = [case(integers(4), integers(4)), case(integers(2, 3), integers(3)), case(booleans(4), booleans(4))]
shifts = [case(integers(4), integers(4, high=5)), case(integers(2, 3, low=-9), 2)]


@elementwise(differentiable=False, c="{0} & {1}", samples=[*two, case(integers(3), 6)])
def bitwise_and(x, y, /):
    """Bits set in both, element by element. x, y: integer or boolean arrays. Raises DTypeError for other dtypes."""


@elementwise(differentiable=False, c="{0} | {1}", samples=[*two, case(integers(3), 6)])
def bitwise_or(x, y, /):
    """Bits set in one or both, element by element. x, y: integer or boolean arrays. Raises DTypeError for others."""


@elementwise(differentiable=False, c="{0} ^ {1}", samples=[*two, case(integers(3), 6)])
def bitwise_xor(x, y, /):
    """Bits set in exactly one, element by element. x, y: integer or boolean arrays. Raises DTypeError for others."""


@elementwise(
    differentiable=False,
    kernel="invert",
    c={"b": "!{0}", "iu": "~{0}"},
    samples=[case(integers(4, low=-9)), case(booleans(2, 3)), case(booleans())],
)
def bitwise_invert(x, /):
    """All bits exchanged, element by element; `not` for booleans. Raises DTypeError for other dtypes than these."""


@elementwise(differentiable=False, kernel="left_shift", c="shift_left({0}, {1})", samples=shifts)
def bitwise_left_shift(x, y, /):
    """x times 2**y, element by element, overflowing bits dropped. Integer arrays. Raises DTypeError for others."""


@elementwise(differentiable=False, kernel="right_shift", c="shift_right({0}, {1})", samples=shifts)
def bitwise_right_shift(x, y, /):
    """x over 2**y, rounded down, element by element. Integer arrays. Raises DTypeError for others."""
