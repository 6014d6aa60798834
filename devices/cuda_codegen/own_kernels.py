"""Operations that have their C expression as their kernel, on CuPy's arrays: programs of one step."""

import numpy as np

from ...dispatch import DTypeError, describe, isa
from ...dsl.avals import Aval, aval_of, infer, is_number
from ...dsl.ir.programs import Equation, Program, Var
from ..codegen.loops.elementwise import promoted_dtypes
from .program import Compiled


def run_of(op, xs, params):
    """function(*arrays) of an operation's expression, for arrays of the shapes and dtypes of `xs`, numbers among them.

    Raises DTypeError where there is no CUDA of it.
    """
    avals = [x if is_number(x) else aval_of(x) for x in xs]
    out = infer(op, avals, params)
    given = [x.dtype if not is_number(x) or isa(x, np.generic) else type(x) for x in avals]
    dtype = out.dtype if out.dtype.kind in "fc" else promoted_dtypes(op, given, params)[1]
    inputs = [Var(Aval((), dtype) if is_number(x) else x) for x in avals]
    step = Equation(op, inputs, params, [Var(out)])
    compiled = Compiled(Program(op.__name__, inputs, [], [step], step.outputs, None, None))
    if any([runner is None for _, runner in compiled.steps]):
        name, given = op.__name__, ", ".join(map(describe, xs))
        raise DTypeError(
            f"{name}({given}): there is no CUDA of its C expression for these; convert with .astype, or register a kernel with "
            f"@{name}.method"
        )

    def run(*xs):
        return compiled(*[dtype.type(x) if is_number(x) else x for x in xs])[0]

    return run
