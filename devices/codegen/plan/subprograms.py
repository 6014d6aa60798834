"""Programs within operations: as they are compiled, and the constants in them."""

import numpy as np

from ....dispatch import isa
from ....dsl.card import programs_in
from ....dsl.ir.pass_selection import chosen
from ....dsl.ir.passes import optimized
from ....dsl.ir.passes.rewriting import single
from ..text.scalars import Unsupported


def simple(program):
    """A program within an operation after the passes, made once."""
    key = "simple", chosen()
    found = program.lifted.get(key)
    if found is None:
        found = program.lifted[key] = optimized(program)
    return found


def constants_within(equations):
    """Var -> array of the constants of programs within equations, at all depths, as these programs are after the passes.

    Raises Unsupported for one that is no NumPy array.
    """
    found, seen, left = {}, set(), list(equations)
    while left:
        for p in [simple(p) for value in left.pop().params.values() for p in programs_in(value)]:
            if id(p) in seen:
                continue
            seen.add(id(p))
            left += p.equations
            for v, x in p.constants:
                if not isa(x, (np.ndarray, np.generic)):
                    raise Unsupported("a constant of another library")
                found[v] = in_row(v, x)
    return found


def in_row(v, x):
    """A constant as the compiled code reads it: in a row, in the machine's order of bytes."""
    return np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(v.aval.shape)


def literals_among(constants):
    """Those of some constants, Var -> array, whose elements are all the same, with that number."""
    found = {v: single(x) for v, x in constants.items()}
    return {v: x for v, x in found.items() if x is not None}
