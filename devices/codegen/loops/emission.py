"""The C text of a nest: its loops in order, reductions by vectors, in blocks and chunks, and what threads share of it."""

import itertools
import math

from ..text.indices import ZERO, Index
from .bodies import Body
from .loops import Loop, around, merged, settled
from .nests import fill
from .padding import padded, worth_padding
from .splitting import hoisted, over_vectors
from .unrolling import FEW, folded, folds, rows_first

BLOCK = 512  # elements of a long sum that are added up before blocks are added pairwise, at most
CHUNKS = 64  # parts of a long reduction, whatever the number of threads, so that results do not depend on it
TILE = 64  # results of a reduction over first axes that a thread takes at a time, at least


def emit(nest, graph, outer=0, parallel=False):
    """C lines of a nest without its first `outer` loops, which are around it already."""
    body = Body(graph)
    sums = fill(nest, body)
    targets = [body.access(buffer, kept) for _, _, buffer, kept in sums]
    loops = [Loop(f"i{a}", n, a in nest.reduced) for a, n in enumerate(nest.shape) if n != 1 and a >= outer]
    if not nest.sequential:
        loops = merged(in_order_of_memory(loops, body.places), body.places, body.pinned)
    simd = not nest.sequential and not body.may_fault
    parallel = parallel and not nest.sequential
    if not sums:
        if outer == 0 and len(loops) == 1 and worth_padding(nest, body, loops[0]):
            return settled(padded(body, loops[0], over_vectors), body.places)
        lines = over_vectors(loops, body.lines, body.places, parallel) if simd else around(loops, body.lines, "", parallel)
        return settled(lines, body.places)
    if not nest.sequential and any(not loop.reduced for loop in loops) and folds(body, loops):
        return settled(folded(body, sums, targets, loops, simd, parallel), body.places)
    if not nest.sequential and lies_along(loops, body.places[: -len(sums)]):
        loops = [*[loop for loop in loops if not loop.reduced], *[loop for loop in loops if loop.reduced]]
    inner = []
    while loops and loops[-1].reduced:
        inner.insert(0, loops.pop())
    if not nest.sequential and inner and any(loop.reduced for loop in loops) and rows_first(loops, inner):
        inner = [*[loop for loop in loops if loop.reduced], *inner]
        loops = [loop for loop in loops if not loop.reduced]
    if inner and not loops:
        lines = whole(body, sums, targets, inner, simd, parallel)
    elif inner and not any(loop.reduced for loop in loops):
        core = [*reduced(body, sums, inner, simd), *[f"{y} = {t.name};" for (t, *_), y in zip(sums, targets)]]
        lines = around(loops, core, "", parallel)
    else:
        lines = in_memory(body, sums, targets, loops, inner, simd, parallel, outer)
    return settled(lines, body.places)


def in_order_of_memory(loops, places):
    """The loops, those of a reduction that follow each other with the shortest steps through memory last."""
    step = lambda loop: sum([abs(place.coefficient(loop.name)) for place in places])
    found = []
    for reduced_ones, group in itertools.groupby(loops, lambda loop: loop.reduced):
        found += sorted(group, key=step if reduced_ones else lambda loop: 0, reverse=True)
    return found


def lies_along(loops, places):
    """Whether elements that are put together follow each other in memory, and the results do not: columns of a transpose."""
    step = lambda loop: sum([abs(place.coefficient(loop.name)) for place in places])
    long = [step(loop) for loop in loops if loop.reduced and loop.length > FEW]
    return bool(long) and not loops[-1].reduced and min(long) < step(loops[-1])


# ---------------------------------------------------------------------- reductions
def in_memory(body, sums, targets, loops, inner, simd, parallel, outer):
    """Reductions over axes that do not come last: results are added to in memory, row by row."""
    if not loops:
        return ["{", *body.lines, *[f"{y} = {text};" for (_, text, *_), y in zip(sums, targets)], "}"]
    lines = [f"for (int64_t q = 0; q < {size_within(buffer, outer)}; q++) {buffer.name}[{within(buffer, outer)}q] = {t.start};"
             for t, _, buffer, _ in sums]  # fmt: skip
    core = reduced(body, sums, inner, simd) if inner else list(body.lines)
    core += [f"{y} = {t.combine(y, t.name if inner else text)};" for (t, text, *_), y in zip(sums, targets)]
    loops_around = hoisted if simd and not inner else lambda loops, core, places, parallel: around(loops, core, "", parallel)
    last = loops[-1]
    if parallel and loops[0].reduced and not last.reduced and last.length >= 2 * TILE and not inner:
        tiles = -(-last.length // TILE)
        tile = Loop(last.name, TILE, False, f"tile * {TILE}", "end")
        end = f"int64_t end = (tile + 1) * {TILE} < {last.length} ? (tile + 1) * {TILE} : {last.length};"
        passes = loops_around([*loops[:-1], tile], core, body.places, False)
        return [*lines, *around([Loop("tile", tiles, False)], [end, *passes], "", True)]
    return [*lines, *loops_around(loops, core, body.places, parallel and not loops[0].reduced)]


def size_within(buffer, outer):
    """Elements of a buffer within one iteration of the outer loops."""
    size = 1
    for n in buffer.shape[outer:]:
        size *= n
    return size


def within(buffer, outer):
    """C text of where the part of a buffer begins that belongs to one iteration of the outer loops, to be added to."""
    start = ZERO
    for a, (n, step) in enumerate(zip(buffer.shape[:outer], buffer.strides, strict=False)):
        start = start + Index(0, [(f"i{a}", step if n != 1 else 0)])
    return "" if start == ZERO else f"{start} + "


def whole(body, sums, targets, inner, simd, parallel):
    """Reductions of everything to one result each; long ones in chunks that threads share."""
    stores = [f"{y} = {t.name};" for (t, *_), y in zip(sums, targets)]
    blocks = -(-inner[-1].length // block_size(inner[-1].length, most_in(sums)))
    if not (parallel and len(inner) == 1 and simd and blocks >= CHUNKS):
        return ["{", *reduced(body, sums, inner, simd), *stores, "}"]
    parts = [f"{t.ctype} {t.name}p[{CHUNKS}];" for t, *_ in sums]
    bounds = f"chunk * {blocks} / {CHUNKS}", f"(chunk + 1) * {blocks} / {CHUNKS}"
    chunk = [*in_blocks(body, sums, inner, *bounds), *[f"{t.name}p[chunk] = {t.name};" for t, *_ in sums]]
    lines = [*parts, *around([Loop("chunk", CHUNKS, False)], chunk, "", True)]
    for t, *_ in sums:
        lines += [f"{t.ctype} {t.name} = {t.start};", *t.together(f"{t.name}p", CHUNKS)]
    return ["{", *lines, *stores, "}"]


def reduced(body, sums, inner, simd):
    """The innermost loops of a reduction, whose results are left in local variables."""
    if simd and math.prod([loop.length for loop in inner]) > most_in(sums) and any(t.blocked for t, *_ in sums):
        return in_blocks(body, sums, inner)
    return [*starts(sums), *innermost(inner, body, sums, simd), *ends(sums)]


def innermost(loops, body, sums, simd):
    """The loops around one step of reductions."""
    if simd and all(t.simd for t, *_ in sums):
        return over_vectors(loops, body.lines, body.places, False, steps(sums), clauses(sums))
    return around(loops, [*body.lines, *steps(sums)], "", False)


def most_in(sums):
    """Elements of a block, at most: fewer of complex numbers, which compilers add one after the other, not in lanes."""
    return max(BLOCK // 8, 2) if any(t.dtype.kind == "c" for t, *_ in sums) else BLOCK


def block_size(length, most):
    """Elements of a block: whole tiles or else whole vectors, as many as leave no shorter block over, if they can."""
    sizes = *range(most, most // 2, -64), *range(most, most // 2, -16)
    return next((n for n in sizes if length % n == 0), most)


def in_blocks(body, sums, inner, first="0", last_block=""):
    """Long innermost loops in blocks, whose results are put together pairwise: the loop that is divided is the last one within
    which there are more elements than in a block, and those within it are part of the block."""
    within, at, most = 1, len(inner) - 1, most_in(sums)
    while within * inner[at].length <= most:
        within *= inner[at].length
        at -= 1
    divided = inner[at]
    size = block_size(divided.length, most) if within == 1 else max(1, most // within)
    end = f"(b + 1) * {size} < {divided.length} ? (b + 1) * {size} : {divided.length}" if divided.length % size else ""
    block = Loop(divided.name, size, True, f"b * {size}", end and "end")
    bound = [f"int64_t end = {end};"] if end else []
    core = [*bound, *starts(sums), *innermost([block, *inner[at + 1 :]], body, sums, True), *ends(sums)]
    core += [line for t, *_ in sums for line in t.push()]
    blocks = Loop("b", 0, True, first, last_block or str(-(-divided.length // size)))
    lines = [f"{t.ctype} {t.name} = {t.start};" for t, *_ in sums] + [line for t, *_ in sums for line in t.stack()]
    return [*lines, *around([*inner[:at], blocks], core, "", False), *[line for t, *_ in sums for line in t.empty()]]


def starts(sums):
    return [line for t, *_ in sums for line in t.begin()]


def steps(sums):
    return [line for t, text, *_ in sums for line in t.step(text)]


def ends(sums):
    return [line for t, *_ in sums for line in t.close()]


def clauses(sums):
    return "".join(t.clause for t, *_ in sums)
