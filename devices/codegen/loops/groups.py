"""The C text of a plan: passes that share loops, temporaries, and what of it threads share."""

import math

from ....dsl.ir.pass_selection import on
from ..text.scalars import memory_type
from .emission import emit
from .fusion import Rows, in_rows, localize
from .loops import shares
from .nests import Nest

PARALLEL = 3_000_000  # work, in additions, that is worth waking threads for: about half a millisecond


def written(plan, graph):
    """(groups of nests, temporaries that need memory, C lines) of a plan."""
    groups = in_rows(plan.nests, plan.memory) if on("fusion") else plan.nests
    temporaries = localize(groups, plan.temporaries, plan.memory, graph)
    return groups, temporaries, [line for g in groups for line in lines_of(g, graph)]


def lines_of(g, graph):
    """C lines of one nest, block, or passes in rows."""
    if isinstance(g, Rows):
        return rows(g, graph)
    work = math.prod(g.shape) * g.work
    parallel = work >= PARALLEL
    return emit(g, graph, 0, parallel) if isinstance(g, Nest) else g.emit(graph, 0, parallel)


def rows(g, graph):
    """C lines of passes that share their outer loops."""
    lines = []
    work = sum(math.prod(n.shape) * n.work for n in g.nests)
    for v in g.local:
        buffer = graph.buffers[v]
        count = max(1, math.prod(buffer.shape[g.outer :]))
        lines.append(f"{memory_type(buffer.dtype)} {buffer.name}[{count}] __attribute__((aligned(64)));")
    lines += [line for n in g.nests for line in emit(n, graph, g.outer)]
    loops = [(a, n) for a, n in enumerate(g.shape) if n != 1]
    for a, n in reversed(loops):
        lines = [f"for (int64_t i{a} = 0; i{a} < {n}; i{a}++) {{", *lines, "}"]
    pragma = [f"#pragma omp parallel for {shares(loops[0][1])}"] if work >= PARALLEL and loops else []
    return [*pragma, *lines]
