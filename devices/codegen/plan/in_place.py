"""Writes to parts of arrays that nobody reads afterwards: they need no copy, the result lies in the array's memory."""

from ....dsl.avals import UNKNOWN
from ....dsl.ir.programs import Var
from ...lowering import record
from ..loops.index_maps import aliases


def chains(equations, outputs, graph):
    """(lists of Vars, each written into the memory of the one before it; Vars that must lie in memory for that).

    equations: a straight line; outputs: Vars that must be there in the end. The writes are noted in graph.in_place.
    """
    place, readers = {v: k for k, e in enumerate(equations) for v in e.outputs}, {}
    for k, e in enumerate(equations):
        for v in dict.fromkeys(v for v in e.inputs if isinstance(v, Var)):
            readers.setdefault(v, []).append(k)
    found, kept = {}, set()  # last Var of a chain -> the chain
    for k, e in enumerate(equations):
        if not record(e).in_place or e in graph.in_place:
            continue
        x = e.inputs[0]
        if x not in place or x in outputs or x in graph.buffers or x in graph.literals or UNKNOWN in x.aval.shape:
            continue
        shared = [equations[i] for i in (place[x], *readers[x]) if aliases(equations[i])]
        if shared or readers[x][-1] != k or x in e.inputs[1:] or x.aval != e.outputs[0].aval:
            continue
        found[e.outputs[0]] = [*found.pop(x, [x]), e.outputs[0]]
        graph.in_place.add(e)
        kept.update([x], *[equations[i].outputs for i in readers[x]])
    return list(found.values()), kept
