"""Passes: functions from a program to a better one that gives the same results.

Each is a file and can be left out: `optimized(program, passes=("dead_code",))`. Signs of zero, NaN and infinities are kept.
"""

from .common import common_subexpressions
from .dead import dead_code
from .fold import fold_constants
from .simplify import simplify

PASSES = {f.__name__: f for f in (fold_constants, common_subexpressions, simplify, dead_code)}
ORDER = ("fold_constants", "common_subexpressions", "simplify", "common_subexpressions", "dead_code")


def optimized(program, passes=ORDER):
    """A program after the passes of these names, in order. The results are the same with any of them, or none."""
    for name in passes:
        program = PASSES[name](program)
    return program
