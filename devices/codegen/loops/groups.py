"""The statements of a plan: passes that share loops, temporaries, and what of it threads share."""

import math

from ....dsl.ir.pass_selection import on
from ..text.scalars import memory_type
from ..text.statements import Array
from .emission import emit
from .fusion import Rows, in_rows, localize
from .loops import Loop, around
from .lowering_checks import checked_statements
from .nests import Nest

PARALLEL = 3_000_000  # work, in additions, that is worth waking threads for: about half a millisecond


def written(plan, graph):
    """(groups of nests, temporaries that need memory, statements) of a plan."""
    groups = in_rows(plan.nests, plan.memory) if on("fusion") else plan.nests
    temporaries = localize(groups, plan.temporaries, plan.memory, graph)
    return groups, temporaries, [s for g in groups for s in statements_of(g, graph)]


def statements_of(g, graph):
    """Statements of one nest, block, or passes in rows."""
    if isinstance(g, Rows):
        return rows(g, graph)
    work = math.prod(g.shape) * g.work
    parallel = work >= PARALLEL
    if isinstance(g, Nest):
        return emit(g, graph, 0, parallel)
    return checked_statements(g, g.emit(graph, 0, parallel), graph)


def rows(g, graph):
    """Statements of passes that share their outer loops."""
    work, body = sum(math.prod(n.shape) * n.work for n in g.nests), []
    for v in g.local:
        buffer = graph.buffers[v]
        size = max(1, math.prod(buffer.shape[g.outer :]))
        body.append(Array(memory_type(buffer.dtype), buffer.name, size, aligned=True))
    body += [s for n in g.nests for s in emit(n, graph, g.outer)]
    loops = [Loop(f"i{a}", n, False) for a, n in enumerate(g.shape) if n != 1]
    return around(loops, body, False, work >= PARALLEL) if loops else body
