"""Dead code: equations whose results nobody uses, and constants that nobody reads."""

from ..programs import without_dead_code
from .rewriting import with_equations


def dead_code(program):
    """The program without them; operations that talk to other processes stay."""
    equations, needed = without_dead_code(program.equations, program.outputs)
    constants = [pair for pair in program.constants if pair[0] in needed]
    return with_equations(program, equations, program.outputs, constants)
