"""What passes share: programs with some values replaced, what is known of constants, what may be done twice or not at all."""

import numpy as np

from ....dispatch import isa
from ..programs import Equation, Program, Var

AT_ONCE = 1 << 14  # elements of a constant that are compared at a time


def replaced(program, rewrite, constants=None):
    """The program with each equation given to `rewrite(equation)`, its inputs being those after earlier replacements.

    rewrite: returns None to keep the equation, an Equation with the same outputs instead of it, or the list of atoms that
    its outputs are. constants: pairs (Var, array) instead of the program's, may grow while rewriting.
    """
    found, equations = {}, []
    new = lambda v: found.get(v, v) if isinstance(v, Var) else v
    for e in program.equations:
        e = Equation(e.op, [new(v) for v in e.inputs], e.params, e.outputs)
        answer = rewrite(e)
        if isinstance(answer, list):
            found.update(zip(e.outputs, answer, strict=True))
        else:
            equations.append(answer or e)
    outputs = [new(v) for v in program.outputs]
    return with_equations(program, equations, outputs, program.constants if constants is None else constants)


def with_equations(program, equations, outputs, constants):
    """The program with other equations, results and constants."""
    return Program(
        program.name, program.inputs, list(constants), equations, outputs, program.in_structure, program.out_structure
    )


def pure(e):
    """Return whether an equation may be left out, done once for twice, or done in advance: it acts on nothing, talks to
    nobody."""
    return not e.op.card.collective and not e.op.card.acts(e.params)


def single(x):
    """The one value of all elements of a NumPy array, as a NumPy scalar; None if there are several (to the bit)."""
    if isa(x, np.generic):
        return x
    if not isa(x, np.ndarray) or not x.size:
        return None
    first = x[(0,) * x.ndim]
    if not any(x.strides):
        return first
    flat, part = np.ascontiguousarray(x).reshape(-1), first.tobytes() * min(x.size, AT_ONCE)
    same = all(part.startswith(flat[i : i + AT_ONCE].tobytes()) for i in range(0, x.size, AT_ONCE))
    return first if same else None
