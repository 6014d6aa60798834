"""Chains of function calls, one call at a time over a few dozen elements.

A sine of a sine waits for the first one to be finished, some sixty cycles. A loop that goes through a long chain for one vector
of elements after the other shows the processor too few chains at once to fill that time. In stages, each of them a loop
over a tile, the calls of a stage are independent, and what the next stage needs waits in the first-level cache.
"""

from ..text.expressions import Name, c, waits
from ..text.statements import Array, Assign, If, Local, reads, stored
from .loops import Loop, around
from .padding import LANES
from .reductions import element

TILES = ((64, 32), (32, 64), (16, 128))  # elements of a tile, for at most so many numbers of an element between stages
DEEP = 2  # calls that wait for each other, from which on stages are worth their loops
MOST = 16  # stages; further calls share them, for each loop takes the compiler some milliseconds
PLAIN = ("double", "float", "int64_t", "int32_t", "_Bool")  # types of numbers that are kept between stages


def over_vectors(loops, statements, parallel, steps=(), clause=""):
    """Loops around statements, the innermost one over vectors: in stages if that is worth it, and without what is the same for
    all of its elements, which comes before it.

    steps: statements of a reduction, which come last. clause: what OpenMP is to know of it.
    """
    if not loops:
        return around(loops, [*statements, *steps])
    before, statements = constant(loops[-1], statements)
    stages = staged(loops[-1], statements, steps, clause)
    if stages is None:
        return _with_before(loops[:-1], before, loops[-1], [*statements, *steps], True, parallel, clause)
    return _with_before(loops[:-1], before, *stages, False, parallel)


def hoisted(loops, statements, parallel):
    """Loops around statements, the innermost one over vectors and without what is the same for all its elements."""
    before, core = constant(loops[-1], statements)
    return _with_before(loops[:-1], before, loops[-1], core, True, parallel)


def _with_before(outer, before, loop, core, simd, parallel, clause=""):
    if not before:
        return around([*outer, loop], core, simd, parallel, clause)
    return around(outer, [*before, *around([loop], core, simd, parallel and not outer, clause)], False, parallel)


def constant(loop, statements):
    """(statements that are the same in each round of a loop, the others). Left in the loop, a truth value that is the same for
    all elements would keep compilers from vectors, so it becomes a number."""
    if not loop.length:
        return [], statements
    before, inside, varying = [], [], {loop.name, *[array for array in map(stored, statements) if array]}
    wide = "int32_t" if any(type(s) is Local and s.type == "float" for s in statements) else "int64_t"
    for s in statements:
        if type(s) is not Local or not varying.isdisjoint(reads(s)):
            inside.append(s)
            if type(s) is Local:
                varying.add(s.name)
        else:
            before.append(Local(wide, s.name, s.value) if s.type == "_Bool" else s)
    return before, inside


def staged(loop, statements, steps=(), clause=""):
    """(loop over tiles, statements of one tile) in place of an inner loop and its statements, or None if that is not worth
    it."""
    parts = _stages(statements, steps)
    if parts is None:
        return None
    types, stages, between = parts
    tile = next((size for size, most in TILES if len(between) <= most), None)
    if tile is None or loop.length < 2 * LANES:
        return None
    tile = next((n for n in range(tile, tile * 3 // 4 - 1, -8) if loop.length % n == 0), min(tile, loop.length))
    many, rest = divmod(loop.length, tile)
    start, until = Name("start"), Name("until")
    core: list = [Local("int64_t", "start", c("({}) + {} * {}", loop.first, Name("tile"), tile))]
    core.append(Local("int64_t", "until", c("{} + {}", start, tile)))
    last = loop.last or (c("({}) + {}", loop.first, loop.length) if rest else None)
    if last is not None:
        core.append(If(c("{} > {}", until, last), [Assign(until, last)]))
    core += [Array(types[name], f"{name}_tile", tile, aligned=True) for name in between]
    inner = Loop(loop.name, tile, False, start, until if last is not None else "")
    here = c("{} - {}", Name(loop.name), start)
    for k, stage in enumerate(stages):
        body = [s(here) if callable(s) else s for s in stage]
        core.append(inner.around(body, simd=True, clause=clause if k == len(stages) - 1 else ""))
    return Loop("tile", many + bool(rest), False), core


def _stages(statements, steps):
    """(types of the local variables, statements of each stage, names that one stage makes and a later one reads), or None. A
    statement may be a function of the place in a tile."""
    level, types, placed = {}, {}, []
    for s in statements:
        defined = s.name if type(s) is Local and s.type in PLAIN else None
        if not stored(s) and not defined:
            return None
        uses = [n for n in dict.fromkeys(reads(s)) if n in level]
        at = max([level[n] for n in uses], default=0) + waits(s.value)
        if defined:
            types[defined], level[defined] = s.type, at
        placed.append((max(at, 1), uses, defined, s))
    deepest = max([at for at, *_ in placed], default=0)
    if deepest < DEEP:
        return None
    placed += [(deepest, [n for n in dict.fromkeys(reads(s)) if n in level], None, s) for s in steps]
    together = -(-deepest // MOST)
    stages = [[] for _ in range(-(-deepest // together))]
    placed = [(-(-at // together), *rest) for at, *rest in placed]
    level = {name: -(-max(at, 1) // together) for name, at in level.items()}
    between = dict.fromkeys(name for at, uses, *_ in placed for name in uses if level[name] < at)
    read = set()  # (name, stage that has it from the one that made it)
    for at, uses, made, s in placed:
        stage = stages[at - 1]
        for name in uses:
            if level[name] < at and (name, at) not in read:
                read.add((name, at))
                stage.append(lambda here, name=name: Local(types[name], name, element(f"{name}_tile", here)))
        stage.append(s)
        if made in between:
            stage.append(lambda here, name=made: Assign(element(f"{name}_tile", here), Name(name)))
    return types, stages, list(between)
