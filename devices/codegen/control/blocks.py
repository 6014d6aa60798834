"""Operations on programs as blocks of a plan: loops, choices and calls, with the programs in them, become C."""

from ....dsl.avals import UNKNOWN
from ....dsl.ir.pass_selection import on
from ....dsl.ir.programs import Var
from ..loops.loops import settled
from ..lowerings.blocks import BLOCKS, WHOLE
from ..text.math_functions import Functions
from ..text.scalars import Unsupported
from . import elements, loops, recursion  # noqa: F401  (they fill the tables)
from .memory_loops import PASSES
from .registers import CONTROL, Straight, points


class Control:
    """An equation of an operation on programs, as one piece of C."""

    sequential = True
    reduced, roots, kept_first, shape, work = (), (), 0, (), 1

    def __init__(self, e, graph):
        self.equation, self.second = e, False
        self.writes = list(e.outputs)
        self.reads = [(v, ()) for v in e.inputs if isinstance(v, Var)]

    def emit(self, graph, outer=0, parallel=False):
        """C lines. Raises Unsupported."""
        e = self.equation
        if type(graph.functions) is not Functions:
            raise Unsupported("operations on programs on another device")
        ways = in_values, PASSES[e.op.__name__]
        first, second = ways if on("fusion") else ways[::-1]  # operations on variables share one pass
        if not self.second:
            try:
                return first(e, graph)
            except Unsupported:
                self.second = True
        return second(e, graph)


def in_values(e, graph):
    """C lines of an equation with its values in variables. Raises Unsupported."""
    body = Straight(graph)
    CONTROL[e.op.__name__](body, e)
    for v in e.outputs:
        if UNKNOWN in v.aval.shape:
            continue
        stores = [(body.access(graph.buffers[v], idx), body.memo.get((v, idx))) for idx in points(v.aval.shape)]
        body.lines += [f"{target} = {text};" for target, text in stores if text is not None]
    return settled(["{", *body.lines, "}"], body.places)


def control(e, graph):
    return [Control(e, graph)]


BLOCKS.update(dict.fromkeys(CONTROL, control))
WHOLE.update(CONTROL)
