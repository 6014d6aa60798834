"""Checkers for operations, array types and transformations, ours and yours; tests call them, and they need nothing but
polyad and NumPy.

`check_rule` holds the rules of an operation's card against references that know nothing of them: the kernel, finite
differences, a Python loop. `check_array_type` holds an array type against its dense form, `check_transformation` a
transformed function against the function itself. All raise AssertionError with a text that says what disagrees.
"""

from .rules import (
    check_forward,
    check_kernel,
    check_lanes,
    check_reverse,
    check_rule,
    check_second_order,
    check_shape,
    check_trace,
)
from .transformations import check_transformation
from .types import check_array_type

__all__ = [
    "check_array_type", "check_forward", "check_kernel", "check_lanes", "check_reverse", "check_rule",
    "check_second_order", "check_shape", "check_trace", "check_transformation",
]  # fmt: skip
