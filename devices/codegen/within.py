"""Programs within operations: as they are compiled, and the constants in them."""

import numpy as np

from ...dsl.card import programs_in
from ...dsl.passes import optimized
from .scalars import Unsupported

UNIFORM = 1 << 16  # elements up to which constants are searched for a single value


def simple(program):
    """A program within an operation after the passes, made once."""
    found = program.lifted.get("simple")
    if found is None:
        found = program.lifted["simple"] = optimized(program)
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
                if not isinstance(x, (np.ndarray, np.generic)):
                    raise Unsupported("a constant of another library")
                found[v] = in_row(v, x)
    return found


def in_row(v, x):
    """A constant as the compiled code reads it: in a row, in the machine's order of bytes."""
    return np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(v.aval.shape)


def uniform(x):
    """Whether all elements of an array are the same, to the bit."""
    if not 0 < x.size <= UNIFORM:
        return False
    first = x.flat[0]
    return bool((x == first).all()) and not (x.dtype.kind in "fc" and first == 0 and np.signbit(x.real).any())
