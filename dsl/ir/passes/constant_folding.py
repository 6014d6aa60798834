"""Constant folding: what depends on constants only is computed in advance."""

from typing import Any

import numpy as np

from ....dispatch import isa
from ...avals import aval_of
from ..programs import Var
from .rewriting import pure, replaced

MAX_FOLDED_ELEMENTS = 1 << 16  # elements of a result that is kept


def fold_constants(program):
    """The program in which equations of constants are constants. What raises stays, to raise when the program runs."""
    known, constants = dict(program.constants), list(program.constants)

    def rewrite(e):
        atoms: list[Any] = [known.get(v) if isinstance(v, Var) else v for v in e.inputs]
        if not pure(e) or any(x is None or not isa(x, (np.ndarray, np.generic, int, float, complex)) for x in atoms):
            return None
        if sum(v.aval.size for v in e.outputs) > max(MAX_FOLDED_ELEMENTS, sum(np.size(x) for x in atoms)):
            return None
        try:
            with np.errstate(all="ignore"):
                y = e.op.generic.spread(*atoms, **e.params)
        except Exception:  # whatever it is, it belongs to the run
            return None
        parts = y if isinstance(y, tuple) else (y,)
        if any(not isa(p, (np.ndarray, np.generic)) or aval_of(p) != v.aval for p, v in zip(parts, e.outputs)):
            return None
        for v, part in zip(e.outputs, parts, strict=True):
            part = np.array(part)[()]
            known[v] = part
            constants.append((v, part))
        return list(e.outputs)

    return replaced(program, rewrite, constants)
