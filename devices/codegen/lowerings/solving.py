"""Linear algebra of small matrices in C: systems, inverses, determinants and Cholesky factors, one matrix after the other.

A call of LAPACK through NumPy costs microseconds whatever the size, and would keep the loop around it out of C. Beyond
`LARGEST` rows the library's own kernel is as good. Where elimination leaves nothing of a column but rounding errors, or a
matrix is not positive definite, the code gives up, and the operation itself decides whether that is an error.
"""

import numpy as np

from ....dsl import operations
from ...lowering import lowering
from ..loops.bodies import Body
from ..loops.loops import Loop, around
from ..text.expressions import Name, c, call
from ..text.indices import ZERO, Index
from ..text.scalars import Unsupported, code
from ..text.small_solves import LARGEST
from ..text.statements import FAULT, Do, If
from .contractions import view


class Dense:
    """Loops over the leading axes around a call of the C function `what` for one matrix."""

    sequential = True
    reduced, roots = (), ()
    kept_first = 0

    def __init__(self, e, graph, what):
        graph.functions.host_only()
        self.equation, self.what, self.writes = e, what, list(e.outputs)
        a, self.dtype = e.inputs[0], e.outputs[0].aval.dtype
        self.n = a.aval.shape[-1]
        alike = all(v.aval.dtype == self.dtype for v in e.inputs)
        if self.dtype.char not in "df" or not alike or not 0 < self.n <= LARGEST:
            raise Unsupported("large or complex matrices")
        self.vector = len(e.inputs) > 1 and e.inputs[1].aval.ndim == 1
        leads = [v.aval.shape[:-2] for v in (e.inputs[:1] if self.vector else e.inputs)]
        self.lead = np.broadcast_shapes(*leads)
        self.shape = (*self.lead, self.n, self.n)
        self.work = self.n
        self.reads = [(v, ()) for v, _ in self._loads(graph)]

    def _loads(self, graph):
        body = Body(graph)
        self._arguments(body)
        return body.loads

    def _arguments(self, body):
        """The address and the strides of one matrix of each argument, and the address of each result."""
        counters = tuple(ZERO if n == 1 else Index(0, [(f"b{k}", 1)]) for k, n in enumerate(self.lead))
        found = []
        for v in self.equation.inputs:
            last = tuple(Index(0, [(name, 1)]) if n != 1 else ZERO for name, n in zip("ij", v.aval.shape[-2:], strict=False))
            lead = v.aval.shape[: v.aval.ndim - len(last)] if v.aval.ndim > 1 else ()
            own = tuple(ZERO if n == 1 else i for n, i in zip(lead, counters[len(counters) - len(lead) :], strict=True))
            buffer, place = view(body, v, (*own, *last))
            found += [address(buffer, place.without({"i", "j"})), place.coefficient("i"), place.coefficient("j")]
        for v in self.equation.outputs:
            buffer = body.graph.buffers[v]
            inside = v.aval.ndim - len(self.lead)
            found.append(address(buffer, buffer.at((*counters, *(ZERO,) * inside))))
        return found

    def emit(self, graph, outer=0, parallel=False):
        """Statements."""
        e, kind = self.equation, code(self.dtype)
        graph.functions.dense.add((self.what, kind))
        numbers = [str(self.n)]
        if self.what in ("solve", "triangular"):
            b = e.inputs[1].aval
            numbers.append("1" if self.vector else str(b.shape[-1]))
        if self.what == "triangular":
            trans, lower, unit = (e.params.get(name, 0) for name in ("trans", "lower", "unit_diagonal"))
            turned = trans not in (0, "N")
            numbers += [str(int(turned)), str(int(bool(lower) != turned)), str(int(bool(unit)))]
        if self.what == "factor":
            numbers.append(str(int(bool(e.params.get("upper", False)))))
        solved = call(f"{self.what}_{kind}", *numbers, *self._arguments(Body(graph)))
        may_fail = self.what not in ("determinant", "logarithm")
        loops = [Loop(f"b{k}", n, False) for k, n in enumerate(self.lead) if n != 1]
        return around(loops, [If(solved, [FAULT]) if may_fail else Do(solved)])


def address(buffer, place):
    """Return C of the address of an element of a buffer."""
    return c("{} + {}", Name(buffer.name), place)


for name, what in (
    ("solve", "solve"), ("solve_triangular", "triangular"), ("inv", "inverse"), ("det", "determinant"),
    ("slogdet", "logarithm"), ("cholesky", "factor"),
):  # fmt: skip
    lowering(operations[name], nests=lambda e, graph, what=what: [Dense(e, graph, what)], memory=True, strided=True)
