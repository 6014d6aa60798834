"""Elementwise operations whose arguments are of several dtypes, or whose expression depends on the call."""

import numpy as np

from ....dispatch import isa
from ....dsl import operations
from ....dsl.ir.programs import Var
from ...lowering import lowering
from ..loops.elementwise import resolved
from ..text.scalars import Unsupported

lowering(operations["where"], dtypes=lambda given, out: ([np.dtype(bool), out, out], out), leader=1)

# powers by multiplications: of no larger error than a vector function, with over- and underflow where the result has it
PRODUCTS = {2: "{0} * {0}", 3: "{0} * {0} * {0}", 4: "({0} * {0}) * ({0} * {0})", 6: "({0} * {0} * {0}) * ({0} * {0} * {0})"}


def power(e, dtype):
    """The C expression of a power; for whole exponents that are known, products."""
    exponent = e.inputs[1]
    if dtype.kind == "i" and not _not_negative(exponent):
        raise Unsupported("powers of integers, whose exponents may be negative")
    return None if isinstance(exponent, Var) or dtype.kind == "c" else PRODUCTS.get(exponent)


def _not_negative(v):
    return (isa(v, (int, np.integer)) and v >= 0) or (isinstance(v, Var) and v.aval.dtype.kind in "ub")


lowering(operations["power"], template=power)


def astype(e, dtype):
    """The C expression of a conversion: C converts where it is stored."""
    if e.params.get("device") is not None:
        raise Unsupported("a conversion that moves to another device")


lowering(operations["astype"], dtypes=lambda given, out: ([out], out), template=astype)


def ldexp(given, out):
    """The dtypes in which `ldexp` is computed: all exponents are of one."""
    number, _, result = resolved(np.ldexp, tuple(given))
    return [number, np.dtype(np.int64)], result


lowering(operations["ldexp"], dtypes=ldexp, leader=0)
