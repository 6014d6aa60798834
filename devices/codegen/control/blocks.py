"""Operations on programs as blocks of a plan: loops, choices and calls, with the programs in them, become C."""

from ....dsl import operations
from ....dsl.avals import UNKNOWN
from ....dsl.ir.pass_selection import on
from ....dsl.ir.programs import Var
from ...lowering import lowering, record
from ..text.scalars import Unsupported
from ..text.statements import Assign, scope
from . import branches, loops, memory_loops, python_steps, recursion
from .registers import Straight, points


class Control:
    """An equation of an operation on programs, as one piece of C."""

    sequential = True
    reduced, roots, kept_first, shape, work = (), (), 0, (), 1

    def __init__(self, e, graph):
        self.equation, self.second = e, False
        self.writes = list(e.outputs)
        self.reads = [(v, ()) for v in e.inputs if isinstance(v, Var)]

    def emit(self, graph, outer=0, parallel=False):
        """Statements. Raises Unsupported."""
        e = self.equation
        ways = in_values, record(e).passes
        first, second = ways if on("fusion") else ways[::-1]  # operations on variables share one pass
        if not self.second:
            try:
                return first(e, graph)
            except Unsupported:
                self.second = True
        return second(e, graph)


def in_values(e, graph):
    """Statements of an equation with its values in variables. Raises Unsupported."""
    body = Straight(graph)
    record(e).registers(body, e)
    for v in e.outputs:
        if UNKNOWN in v.aval.shape:
            continue
        stores = [(body.access(graph.buffers[v], idx), body.memo.get((v, idx))) for idx in points(v.aval.shape)]
        body.statements += [Assign(target, value) for target, value in stores if value is not None]
    return [scope(*body.statements)]


def control(e, graph):
    return [Control(e, graph)]


for name, registers, passes, stepwise in (
    ("steps_of", loops.steps_of, memory_loops.steps_of, python_steps.steps_of),
    ("loop", loops.loop, memory_loops.loop, python_steps.loop),
    ("choice", branches.choice, memory_loops.choice, python_steps.choice),
    ("call", recursion.called_with_values, recursion.called_in_memory, None),
):
    lowering(operations[name], nests=control, registers=registers, passes=passes, stepwise=stepwise, memory=True)
