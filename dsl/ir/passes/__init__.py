"""Passes: functions from a program to a better one that gives the same results.

Each is a file and can be left out: `optimized(program, passes=("dead_code",))`. Signs of zero, NaN and infinities are kept.
What a function computes and does not use is no part of its program from the start; dead code is what passes leave behind.
"""

from ..pass_selection import checked, chosen
from .common_subexpression_elimination import common_subexpressions
from .dead_code_elimination import dead_code
from .constant_folding import fold_constants
from .shape_specialization import specialize_shapes
from .simplify import simplify

TABLE = {f.__name__: f for f in (fold_constants, common_subexpressions, specialize_shapes, simplify, dead_code)}
ORDER = ("fold_constants", "common_subexpressions", "specialize_shapes", "simplify", "common_subexpressions", "dead_code")


def optimized(program, passes=None):
    """A program after those passes on programs that are among these names: by default the ones that are on where it is asked.
    The results are the same with any of them, or none. Raises StructureError for other names."""
    passes = chosen() if passes is None else checked("optimized", passes)
    for name in ORDER:
        if name in passes:
            program = TABLE[name](program)
    return program
