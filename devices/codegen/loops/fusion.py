"""Passes that share their outer loops: nests that follow each other and meet at the same leading index.

A softmax is a maximum, an exponential, a sum and a quotient over each row. Run one after the other for each row, the row
stays in the cache, and what only these nests use needs memory for one row, not for all.
"""

from typing import Any

from ..text.indices import Buffer, Index, contiguous
from ..text.statements import reads, stored
from .emission import size_within
from .nests import Nest, counters, dry_run

LARGE = 16_384  # elements from which on rows are worth their own passes
FEWEST = 8  # rows that are worth a loop around their passes
ROW_BYTES = 128 * 1024  # memory for the temporaries of a row, on the stack of each thread


class Rows:
    """Nests under `outer` common loops. local: temporaries that live within one iteration of these."""

    sequential = False

    def __init__(self, nests, outer):
        self.nests, self.outer, self.local = nests, outer, []

    @property
    def shape(self):
        return self.nests[0].shape[: self.outer]

    @property
    def writes(self):
        return [v for n in self.nests for v in n.writes]

    @property
    def reads(self):
        return [r for n in self.nests for r in n.reads]


def in_rows(nests, memory):
    """The nests, with those that can share their outer loops put together."""
    groups: list[Any] = []
    current: Any = None
    for nest in nests:
        joined = current and joint(current, nest, memory)
        if joined:
            current = Rows([*current.nests, nest], joined)
            groups[-1] = current
        else:
            able = isinstance(nest, Nest) and not nest.sequential and outer_loops(nest) > 0
            current = Rows([nest], outer_loops(nest)) if able else None
            groups.append(current or nest)
    return [g.nests[0] if isinstance(g, Rows) and len(g.nests) == 1 else g for g in groups]


def outer_loops(nest):
    """Count the leading loops that a nest can share."""
    return nest.kept_first if nest.reduced else max(len(nest.shape) - 1, 0)


def size(shape):
    product = 1
    for n in shape:
        product *= n
    return product


def joint(rows, nest, memory):
    """The number of outer loops that a nest is to share with those before it, 0 if it is to be by itself."""
    common, shape = meeting(rows, nest, memory) or 0, rows.nests[0].shape
    if not common or size(shape[:common]) < FEWEST:
        return 0
    return common if max(size(n.shape) for n in (*rows.nests, nest)) >= LARGE else 0


def meeting(rows, nest, memory, loops=outer_loops):
    """The number of outer loops that a nest can share with those before it, None if it cannot be among them. loops: how many a
    nest has to share."""
    if not isinstance(nest, Nest) or nest.sequential:
        return None
    shape = rows.nests[0].shape
    k = min(rows.outer, loops(nest))
    common = 0
    while common < k and all(n.shape[common] == nest.shape[common] for n in rows.nests):
        common += 1
    written = {memory(v) for v in rows.writes}
    here = [Index(0, [(f"i{a}", 1)]) if n != 1 else Index() for a, n in enumerate(shape[:common])]
    for v, idx in nest.reads:
        if not common or memory(v) not in written:
            continue
        if memory(v) != v or list(idx[:common]) != here or v.aval.shape[:common] != shape[:common]:
            return None
    if {memory(v) for v in nest.writes} & (written | {memory(v) for v, _ in rows.reads}):
        return None
    if any(r.place is not None for n in (*rows.nests, nest) for r in n.roots if hasattr(r, "place")):
        return None
    for v in (*rows.writes, *nest.writes):  # results of reductions without keepdims keep their leading axes too
        if v.aval.shape[:common] != shape[:common]:
            return None
    return common


def localize(groups, temporaries, memory, graph):
    """Give temporaries that live within one row memory for one row. Changes graph.buffers; returns the others."""
    left = list(temporaries)
    for g in groups:
        if not isinstance(g, Rows):
            continue
        elsewhere = {memory(v) for other in groups if other is not g for v in (*other.writes, *[r for r, _ in other.reads])}
        aliased = {memory(v) for v in graph.same_memory}
        budget = ROW_BYTES
        for v in dict.fromkeys(g.writes):
            if v not in left or v in elsewhere or v in aliased:
                continue
            buffer = graph.buffers[v]
            need = size_within(buffer, g.outer) * buffer.dtype.itemsize
            if need > budget:
                continue
            budget -= need
            strides = (*(0,) * g.outer, *contiguous(buffer.shape[g.outer :]))
            graph.buffers[v] = Buffer(buffer.name, buffer.dtype, buffer.shape, strides)
            g.local.append(v)
            left.remove(v)
        shared(g, graph)
        for nest in g.nests:
            nest.filled = None  # its places have changed
    return left


def shared(rows, graph):
    """Let temporaries of a row lie where others lay that are not read any more: fewer bytes stay in the first-level cache.
    Changes graph.buffers and rows.local."""
    made = {v: k for k, n in enumerate(rows.nests) for v in n.writes}
    last = {r: k for k, n in enumerate(rows.nests) for r, _ in n.reads}
    places = []  # the last temporary of each piece of memory

    def free(u, v):
        if (u.aval.shape, u.aval.dtype) != (v.aval.shape, v.aval.dtype) or size_within(graph.buffers[v], rows.outer) == 1:
            return False  # one number is a register's
        k, end = made[v], last.get(u, made[u])
        return end < k or (end == k and replaces(v, u, rows.nests[k], graph))

    for v in sorted(rows.local, key=made.__getitem__):
        place = next((i for i, u in enumerate(places) if free(u, v)), None)
        if place is None:
            places.append(v)
            continue
        graph.buffers[v] = graph.buffers[places[place]]
        rows.local.remove(v)
        places[place] = v


def replaces(v, u, nest, graph):
    """Return whether a nest can write v where it reads u: it reads each element before it writes it, and no other later."""
    if v.aval.shape != nest.shape or any(r == u and idx != counters(nest.shape) for r, idx in nest.reads):
        return False
    statements, there, here = dry_run(nest, graph).statements, graph.buffers[v].name, graph.buffers[u].name
    wrote = [k for k, s in enumerate(statements) if stored(s) == there]
    return bool(wrote) and not any(here in reads(s) for s in statements[wrote[0] :])
