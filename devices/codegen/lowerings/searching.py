"""Places in sorted vectors: a binary search for each element."""

import numpy as np

from ....dsl import operations
from ....dsl.avals import UNKNOWN
from ....dsl.ir.programs import Var
from ...lowering import lowering
from ..loops.bodies import Body
from ..loops.loops import Loop, around
from ..loops.nests import counters
from ..text.expressions import Name, c, call
from ..text.indices import ZERO, Index
from ..text.scalars import Unsupported, code, ctype
from ..text.statements import Assign
from .contractions import view

# not to be inlined: gcc 12 makes vectors of two steps of a search in float that give wrong places
SEARCH = """
static __attribute__((noinline)) int64_t place_SIDE_CODE(const TYPE *a, int64_t step, int64_t n, TYPE v) {
  int64_t low = 0;
  for (; n > 1; n -= n / 2) {
    TYPE x = a[(low + n / 2 - 1) * step];
    low += BEFORE ? n / 2 : 0;
  }
  TYPE x = n ? a[low * step] : v;
  return low + (n && BEFORE);
}"""
BEFORE = {"left": "((x < v) | ((v != v) & (x == x)))", "right": "!((v < x) | ((x != x) & (v == v)))"}  # NaN comes last


@lowering(operations["insertion_places"], memory=lambda e: e.inputs[:1], strided=True)
def insertion_places(e, graph):
    """Binary search for each element."""
    graph.functions.host_only()
    (a, v), side = e.inputs, e.params["side"]
    dtype = np.result_type(a.aval.dtype, v.aval.dtype if isinstance(v, Var) else v)
    if dtype.kind not in "iuf" or a.aval.dtype != dtype or UNKNOWN in a.aval.shape:
        raise Unsupported("a search among other numbers")
    name = f"place_{side}_{code(dtype)}"
    text = SEARCH.replace("BEFORE", BEFORE[side]).replace("SIDE", side).replace("CODE", code(dtype))
    graph.functions.defined[name] = text.replace("TYPE", ctype(dtype))
    return [Search(e, graph, name, dtype)]


class Search:
    """A pass over the elements that are looked for."""

    sequential = True
    reduced, roots = (), ()
    kept_first = 0

    def __init__(self, e, graph, name, dtype):
        self.equation, self.name, self.dtype = e, name, dtype
        self.shape, self.writes, self.work = e.outputs[0].aval.shape, list(e.outputs), 60
        body = Body(graph)
        self._call(body)
        self.reads = body.loads

    def _call(self, body):
        (a, v), idx = self.equation.inputs, counters(self.shape)
        n = a.aval.shape[0]
        source, place = view(body, a, (Index(0, [("l", 1)]) if n != 1 else ZERO,))
        start, step = c("{} + {}", Name(source.name), place.without({"l"})), place.coefficient("l")
        target = body.access(body.graph.buffers[self.writes[0]], idx)
        return Assign(target, call(self.name, start, step, n, body.operand(v, idx, self.dtype)))

    def emit(self, graph, outer=0, parallel=False):
        """Statements."""
        body = Body(graph)
        search = self._call(body)
        loops = [Loop(f"i{k}", n, False) for k, n in enumerate(self.shape) if n != 1]
        return around(loops, [*body.statements, search], False, parallel)
