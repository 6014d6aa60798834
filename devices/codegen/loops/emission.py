"""The statements of a nest: its loops in order, reductions by vectors, in blocks and chunks, and what threads share of it.

They are records; `text/printer.py` makes them text.
"""

import itertools
import math
from typing import Any

from ..text.expressions import Access, Name, c
from ..text.indices import ZERO, Index, contiguous
from ..text.statements import Array, Assign, Local, count, scope
from .loops import Loop, around, merged
from .nests import taken
from .padding import padded, worth_padding
from .reductions import element
from .splitting import hoisted, over_vectors
from .unrolling import FEW, folded, folds, rows_first

BLOCK = 512  # elements of a long sum that are added up before blocks are added pairwise, at most
CHUNKS = 64  # parts of a long reduction, whatever the number of threads, so that results do not depend on it
TILE = 64  # results of a reduction over first axes that a thread takes at a time, at least
Q = Index(0, [("q", 1)])


def emit(nest, graph, outer=0, parallel=False):
    """Statements of a nest without its first `outer` loops, which are around it already."""
    body, sums = taken(nest, graph)
    inside = list(body.accesses)
    targets = [body.access(buffer, kept) for _, _, buffer, kept in sums]
    loops = [Loop(f"i{a}", n, a in nest.reduced) for a, n in enumerate(nest.shape) if n != 1 and a >= outer]
    if not nest.sequential and not nest.unroll:
        loops = merged(in_order_of_memory(loops, body.accesses), body.accesses)
    if nest.unroll:
        return one_by_one(body, sums, targets, loops)
    simd = not nest.sequential and not body.may_fault
    parallel = parallel and not nest.sequential
    if not sums:
        if outer == 0 and len(loops) == 1 and worth_padding(nest, body, loops[0]):
            return padded(body, loops[0], over_vectors)
        return over_vectors(loops, body.statements, parallel) if simd else around(loops, body.statements, False, parallel)
    if not nest.sequential and any(not loop.reduced for loop in loops) and folds(body, loops):
        return folded(body, sums, targets, loops, simd, parallel)
    if not nest.sequential and lies_along(loops, inside):
        loops = [*[loop for loop in loops if not loop.reduced], *[loop for loop in loops if loop.reduced]]
    inner = []
    while loops and loops[-1].reduced:
        inner.insert(0, loops.pop())
    if not nest.sequential and inner and any(loop.reduced for loop in loops) and rows_first(loops, inner):
        inner = [*[loop for loop in loops if loop.reduced], *inner]
        loops = [loop for loop in loops if not loop.reduced]
    if inner and not loops:
        return whole(body, sums, targets, inner, simd, parallel)
    if inner and not any(loop.reduced for loop in loops):
        return around(loops, [*reduced(body, sums, inner, simd), *stores(sums, targets)], False, parallel)
    return in_memory(body, sums, targets, loops, inner, simd, parallel, outer)


def one_by_one(body, sums, targets, loops):
    """Loops to be written out, the elements of a reduction put together pairwise."""
    kept, few = [loop for loop in loops if not loop.reduced], [loop for loop in loops if loop.reduced]
    if not sums:
        return around(loops, body.statements, unroll=True)
    strides, many = contiguous([loop.length for loop in few]), math.prod([loop.length for loop in few])
    place = Index(0, [(loop.name, step) for loop, step in zip(few, strides)])
    before, steps, after = [], [], []
    for (t, value, *_), y in zip(sums, targets):
        parts = body.graph.functions.unique("part")
        before.append(Array(t.ctype, parts, max(many, 1)))
        steps.append(Assign(element(parts, place), value))
        after += [*pairwise(t, parts, many), Assign(y, element(parts, 0) if many else t.start)]
    return around(kept, [*before, *around(few, [*body.statements, *steps], unroll=True), *after], unroll=True)


def in_order_of_memory(loops, accesses):
    """The loops, those of a reduction that follow each other with the shortest steps through memory last."""
    step = lambda loop: sum([abs(a.place.coefficient(loop.name)) for a in accesses])
    found = []
    for reduced_ones, group in itertools.groupby(loops, lambda loop: loop.reduced):
        found += sorted(group, key=step if reduced_ones else lambda loop: 0, reverse=True)
    return found


def lies_along(loops, accesses):
    """Return whether elements put together follow each other in memory, and the results do not: columns of a transpose."""
    step = lambda loop: sum([abs(a.place.coefficient(loop.name)) for a in accesses])
    long = [step(loop) for loop in loops if loop.reduced and loop.length > FEW]
    return bool(long) and not loops[-1].reduced and min(long) < step(loops[-1])


# ---------------------------------------------------------------------- reductions
def pairwise(t, parts, many):
    """Statements that put the elements of an array together, two and two, into the first one."""
    found, step = [], 1
    while step < many:
        for k in range(0, many - step, 2 * step):
            a, b = element(parts, k), element(parts, k + step)
            found.append(Assign(a, t.combine(a, b)))
        step *= 2
    return found


def in_memory(body, sums, targets, loops, inner, simd, parallel, outer):
    """Reductions over axes that do not come last: results are added to in memory, row by row."""
    if not loops:
        return [scope(*body.statements, *[Assign(y, value) for (_, value, *_), y in zip(sums, targets)])]
    first = [
        count("q", 0, size_within(buffer, outer), [Assign(Access(buffer, within(buffer, outer) + Q), t.start)])
        for t, _, buffer, _ in sums
    ]
    core = reduced(body, sums, inner, simd) if inner else list(body.statements)
    core += [Assign(y, t.combine(y, t.variable if inner else value)) for (t, value, *_), y in zip(sums, targets)]
    loops_around = hoisted if simd and not inner else lambda loops, core, parallel: around(loops, core, False, parallel)
    last = loops[-1]
    if parallel and loops[0].reduced and not last.reduced and last.length >= 2 * TILE and not inner:
        tiles, tile_ = -(-last.length // TILE), Name("tile")
        tile = Loop(last.name, TILE, False, c("{} * {}", tile_, TILE), Name("end"))
        end = c("({0} + 1) * {1} < {2} ? ({0} + 1) * {1} : {2}", tile_, TILE, last.length)
        passes = loops_around([*loops[:-1], tile], core, False)
        return [*first, *around([Loop("tile", tiles, False)], [Local("int64_t", "end", end), *passes], False, True)]
    return [*first, *loops_around(loops, core, parallel and not loops[0].reduced)]


def size_within(buffer, outer):
    """Elements of a buffer within one iteration of the outer loops."""
    size = 1
    for n in buffer.shape[outer:]:
        size *= n
    return size


def within(buffer, outer):
    """Return where the part of a buffer begins that belongs to one iteration of the outer loops."""
    start = ZERO
    for a, (n, step) in enumerate(zip(buffer.shape[:outer], buffer.strides, strict=False)):
        start = start + Index(0, [(f"i{a}", step if n != 1 else 0)])
    return start


def stores(sums, targets):
    """The results put where they belong."""
    return [Assign(y, t.variable) for (t, *_), y in zip(sums, targets)]


def whole(body, sums, targets, inner, simd, parallel):
    """Reductions of everything to one result each; long ones in chunks that threads share."""
    blocks = -(-inner[-1].length // block_size(inner[-1].length, most_in(sums)))
    if not (parallel and len(inner) == 1 and simd and blocks >= CHUNKS):
        return [scope(*reduced(body, sums, inner, simd), *stores(sums, targets))]
    parts, at = [Array(t.ctype, f"{t.name}p", CHUNKS) for t, *_ in sums], Name("chunk")
    bounds = c("{} * {} / {}", at, blocks, CHUNKS), c("({} + 1) * {} / {}", at, blocks, CHUNKS)
    chunk = [*in_blocks(body, sums, inner, *bounds), *[Assign(element(f"{t.name}p", at), t.variable) for t, *_ in sums]]
    statements = [*parts, *around([Loop("chunk", CHUNKS, False)], chunk, False, True)]
    for t, *_ in sums:
        statements += [t.started(), *t.together(f"{t.name}p", CHUNKS)]
    return [scope(*statements, *stores(sums, targets))]


def reduced(body, sums, inner, simd):
    """The innermost loops of a reduction, whose results are left in local variables."""
    if simd and math.prod([loop.length for loop in inner]) > most_in(sums) and any(t.blocked for t, *_ in sums):
        return in_blocks(body, sums, inner)
    return [*starts(sums), *innermost(inner, body, sums, simd), *ends(sums)]


def innermost(loops, body, sums, simd):
    """The loops around one step of reductions."""
    if simd and all(t.simd for t, *_ in sums):
        return over_vectors(loops, body.statements, False, steps(sums), clauses(sums))
    return around(loops, [*body.statements, *steps(sums)])


def most_in(sums):
    """Elements of a block, at most: fewer of complex numbers, which compilers add one after the other, not in lanes."""
    return max(BLOCK // 8, 2) if any(t.dtype.kind == "c" for t, *_ in sums) else BLOCK


def block_size(length, most):
    """Elements of a block: whole tiles or else whole vectors, as many as leave no shorter block over, if they can."""
    sizes = *range(most, most // 2, -64), *range(most, most // 2, -16)
    return next((n for n in sizes if length % n == 0), most)


def in_blocks(body, sums, inner, first: Any = "0", last_block: Any = ""):
    """Long innermost loops in blocks, whose results are put together pairwise: the loop that is divided is the last one within
    which there are more elements than in a block, and those within it are part of the block."""
    within, at, most = 1, len(inner) - 1, most_in(sums)
    while within * inner[at].length <= most:
        within *= inner[at].length
        at -= 1
    divided, b = inner[at], Name("b")
    size = block_size(divided.length, most) if within == 1 else max(1, most // within)
    end = c("({0} + 1) * {1} < {2} ? ({0} + 1) * {1} : {2}", b, size, divided.length) if divided.length % size else None
    block = Loop(divided.name, size, True, c("{} * {}", b, size), Name("end") if end else "")
    bound = [Local("int64_t", "end", end)] if end else []
    core = [*bound, *starts(sums), *innermost([block, *inner[at + 1 :]], body, sums, True), *ends(sums)]
    core += [s for t, *_ in sums for s in t.push()]
    blocks = Loop("b", 0, True, first, last_block or str(-(-divided.length // size)))
    before = [t.started() for t, *_ in sums] + [s for t, *_ in sums for s in t.stack()]
    return [*before, *around([*inner[:at], blocks], core), *[s for t, *_ in sums for s in t.empty()]]


def starts(sums):
    return [s for t, *_ in sums for s in t.begin()]


def steps(sums):
    return [s for t, value, *_ in sums for s in t.step(value)]


def ends(sums):
    return [s for t, *_ in sums for s in t.close()]


def clauses(sums):
    return "".join(t.clause for t, *_ in sums)
