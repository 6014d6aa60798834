"""Operations on programs as blocks of a plan: loops, choices and calls, with the programs in them, become C."""

from ....dsl import operations
from ....dsl.ir.programs import Var
from ...lowering import lowering, record
from . import branches, loops, python_steps, recursion


class Control:
    """An equation of an operation on programs, as one piece of C."""

    sequential = True
    reduced, roots, kept_first, shape, work = (), (), 0, (), 1

    def __init__(self, e, graph):
        self.equation = e
        self.writes = list(e.outputs)
        self.reads = [(v, ()) for v in e.inputs if isinstance(v, Var)]

    def emit(self, graph, outer=0, parallel=False):
        """Statements. Raises Unsupported."""
        return record(self.equation).passes(self.equation, graph)


def control(e, graph):
    return [Control(e, graph)]


for name, passes, stepwise in (
    ("steps_of", loops.steps_of, python_steps.steps_of),
    ("loop", loops.loop, python_steps.loop),
    ("choice", branches.choice, python_steps.choice),
    ("call", recursion.call_of_program, None),
):
    lowering(operations[name], nests=control, passes=passes, stepwise=stepwise, memory=True)
