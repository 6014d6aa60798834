"""Common subexpressions: what is computed twice from the same values is computed once."""

import numpy as np

from ....dispatch import isa
from ..programs import Var
from .rewriting import pure, replaced

COMPARED = 4096  # bytes up to which constants are compared


def common_subexpressions(program):
    """The program in which equal equations, and equal constants, are one."""
    seen, same = {}, {}
    for v, x in program.constants:
        if isa(x, (np.ndarray, np.generic)) and x.nbytes <= COMPARED:
            same[v] = seen.setdefault((x.dtype, x.shape, np.asarray(x).tobytes()), v)

    def rewrite(e):
        e.inputs = [same.get(v, v) if isinstance(v, Var) else v for v in e.inputs]
        if not pure(e):
            return None
        key = (e.op, tuple(map(_atom, e.inputs)), tuple(sorted((k, _static(v)) for k, v in e.params.items())))
        try:
            known = seen.setdefault(key, e.outputs)
        except TypeError:  # a parameter that cannot be compared
            return None
        return None if known is e.outputs else list(known)

    return replaced(program, rewrite)


def _atom(v):
    return v if isinstance(v, Var) else _static(v)


def _static(v):
    """A number or parameter as something to compare: 1, 1.0, True and -0.0, 0.0 are all different."""
    if isinstance(v, tuple):
        return (type(v).__name__, *map(_static, v))
    return (
        (type(v).__name__, repr(v))
        if isa(v, (bool, int, float, complex, np.generic)) or v is None
        else (type(v).__name__, repr(v) if isinstance(v, (str, np.dtype, type)) else id(v))
    )
