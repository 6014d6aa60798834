"""Choices in C."""

from ..plan.subprograms import simple
from ..text.expressions import Access
from ..text.scalars import literal
from ..text.statements import switch
from .bodies import Number, given, known_rows, program_statements, results_of


def choice(e, graph):
    """Statements of a `choice`."""
    index, operands = given(graph, e.inputs[0]), [given(graph, x) for x in e.inputs[1:]]
    chosen = literal(index.value, e.inputs[0].aval.dtype) if isinstance(index, Number) else Access(index, "0")
    targets, cases = [graph.buffers[v] for v in e.outputs], []
    for branch in e.params["branches"]:
        program = simple(branch)
        known_rows(results_of(program))
        cases.append(program_statements(program, graph, operands, targets))
    return [switch(chosen, cases)]
