"""Passes that share a block: nests that follow each other and meet at the same leading index, each row a block's work.

A softmax is a maximum, an exponential, a sum and a quotient over each row: one kernel, in which what only these passes use is
kept in shared memory. A program of small arrays is one such row.
"""

import math

from ..codegen.loops.emission import size_within
from ..codegen.loops.fusion import Rows, meeting
from ..codegen.loops.loops import Loop
from ..codegen.loops.nests import Nest, fill
from ..codegen.text.indices import Buffer, contiguous
from ..codegen.text.scalars import memory_type
from ..codegen.text.statements import Shared, scope
from .dialects import BLOCK, BLOCKS_IN_GRID, THREAD
from .kernels import BLOCKS, THREADS, Kernel, KernelBody, decoded, is_wide, loops_of, size, strided, written
from .reductions import HERE, Shape, above, reduced_by

SMALL = 4096  # elements up to which a single block does everything
SHORTEST = 64  # elements of a row that are worth a block
LONGEST = 16_384  # elements of a row up to which a block does it by itself, however few rows there are
MANY = 256  # rows from which on it does so at any length
ROW_BYTES = 16 * 1024  # shared memory for the temporaries of a row


def in_blocks(nests, memory, arrays):
    """The nests, those that can share their blocks put together. arrays: that a kernel may be given, at most."""
    groups, current = [], None
    for nest in nests:
        joined = current and together(current, nest, memory, arrays)
        if joined:
            groups[-1] = current = joined
        else:
            able = isinstance(nest, Nest) and not nest.sequential
            current = Rows([nest], leading(nest)) if able else None
            groups.append(current or nest)
    return [g.nests[0] if isinstance(g, Rows) and len(g.nests) == 1 else g for g in groups]


def leading(nest):
    """Count the leading loops that a nest can share: all that no reduction runs over."""
    return nest.kept_first


def together(current, nest, memory, arrays):
    """A nest with those before it, row by row or as a whole, or None."""
    nests = [*current.nests, nest]
    if len({v for n in nests for v in (*n.writes, *[v for v, _ in n.reads])}) > arrays:
        return None
    for before in (current, Rows(current.nests, 0)):
        common = meeting(before, nest, memory, leading)
        if common is not None and worth(nests, common):
            return Rows(nests, common)
    return None


def worth(nests, common):
    """Return whether nests are better done row by row, each by one block, than one after the other by all blocks."""
    rows = math.prod(nests[0].shape[:common])
    longest = max(math.prod(n.shape[common:]) for n in nests)
    if rows == 1:
        return longest <= SMALL
    return longest >= SHORTEST and (longest <= LONGEST or rows >= MANY)


def localize(g, elsewhere, temporaries, memory, graph):
    """Give a group's temporaries that live within a row shared memory. Changes graph.buffers; returns name -> offset in bytes,
    and the bytes."""
    offsets, used = {}, 0
    aliased = {memory(v) for v in graph.same_memory}
    for v in dict.fromkeys(g.writes):
        buffer = graph.buffers[v]
        need = -(-max(size_within(buffer, g.outer), 1) * buffer.dtype.itemsize // 16) * 16
        if v not in temporaries or v in elsewhere or v in aliased or used + need > ROW_BYTES:
            continue
        strides = (*(0,) * g.outer, *contiguous(buffer.shape[g.outer :]))
        graph.buffers[v] = Buffer(buffer.name, buffer.dtype, buffer.shape, strides)
        offsets[v], used = used, used + need
    return offsets, used


def rows(g, graph, offsets, used):
    """The kernel of a group. offsets: Var -> offset of its shared memory behind that of reductions; used: their bytes."""
    outer = [Loop(f"i{a}", n, False) for a, n in enumerate(g.shape) if n != 1]
    total = size(outer)
    if not total:
        return []
    longest = max(math.prod(n.shape[g.outer :]) for n in g.nests)
    threads = min(THREADS, max(32, above(longest)))
    body, scratch, wide = [], 0, False
    for nest in g.nests:
        made, needs, far = inside(nest, graph, g.outer, threads)
        body += [scope(*made), HERE]
        scratch, wide = max(scratch, needs), wide or far
    scratch = -(-scratch // 16) * 16
    local = []
    for v, at in offsets.items():
        local.append(Shared(memory_type(graph.buffers[v].dtype), graph.buffers[v].name, scratch + at))
    loop = strided("row", BLOCK, total, BLOCKS_IN_GRID, [*decoded(outer, "row"), *body])
    touched = set().union(*[written(n, graph) for n in g.nests])
    return [Kernel([*local, loop], (min(total, BLOCKS),), threads, touched, scratch + used, wide)]


def inside(nest, graph, outer, threads):
    """(statements of a nest within a row, bytes of shared memory, whether counters are wide)."""
    body = KernelBody(graph)
    sums = fill(nest, body)
    targets = [body.access(buffer, kept) for _, _, buffer, kept in sums]
    loops = loops_of(nest, body, outer)
    wide = is_wide(nest, body)
    if not sums:
        return [strided("q", THREAD, size(loops), threads, [*decoded(loops, "q"), *body.statements])], 0, wide
    kept, reduced = [x for x in loops if not x.reduced], [x for x in loops if x.reduced]
    shape = Shape(kept, reduced, not loops or loops[-1].reduced, threads)
    if not shape.results:
        return [], 0, wide
    steps = [(t, value) for t, value, *_ in sums]
    made = reduced_by(shape, steps, body.statements, targets)
    whole = [*shape.places, strided("o", 0, shape.results, shape.lanes, made)]
    return whole, threads * max(t.dtype.itemsize for t, _ in steps), wide
