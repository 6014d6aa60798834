"""Chains of function calls, one call at a time over a few dozen elements.

A sine of a sine waits for the first one to be finished, some sixty cycles. A loop that goes through a long chain for one vector
of elements after the other shows the processor too few chains at once to fill that time. In stages, each of them a loop
over a tile, the calls of a stage are independent, and what the next stage needs waits in the first-level cache.
"""

import re

from .loops import PLACE, Loop, around
from .padding import CALLED, LANES

TILES = ((64, 32), (32, 64), (16, 128))  # elements of a tile, for at most so many numbers of an element between stages
STORED = re.compile(r"\w+\[[^\]]*\] = ")
DEFINED = re.compile(r"((?:double|float|int64_t|int32_t|_Bool)) (\w+) = (.+);")
DECLARED = re.compile(r"(?:\w+ )+(\w+) = ")
NAME = re.compile(r"\b[a-z]\w*\b")
DEEP = 2  # calls that wait for each other, from which on stages are worth their loops
MOST = 16  # stages; further calls share them, for each loop takes the compiler some milliseconds


def over_vectors(loops, lines, places, parallel, steps=(), clause=""):
    """C lines of loops around statements, the innermost one over vectors: in stages if that is worth it, and without what is
    the same for all of its elements, which comes before it.

    places: of accesses to memory. steps: statements of a reduction, which come last. clause: what OpenMP is to know of it.
    """
    if not loops:
        return around(loops, [*lines, *steps], "", False)
    before, lines = constant(loops[-1], lines, places)
    tiles = staged(loops[-1], lines, steps, clause, places)
    if tiles is None:
        tiles, pragma, core = loops[-1], f"simd{clause}", [*lines, *steps]
    else:
        (tiles, core), pragma = tiles, ""
    return _with_before(loops[:-1], before, tiles, core, pragma, parallel)


def hoisted(loops, lines, places, parallel):
    """C lines of loops around statements, the innermost one over vectors and without what is the same for all its elements."""
    before, core = constant(loops[-1], lines, places)
    return _with_before(loops[:-1], before, loops[-1], core, "simd", parallel)


def _with_before(outer, before, loop, core, pragma, parallel):
    if not before:
        return around([*outer, loop], core, pragma, parallel)
    return around(outer, [*before, *around([loop], core, pragma, parallel and not outer)], "", parallel)


def constant(loop, lines, places):
    """(statements that are the same in each round of a loop, the others). Left in the loop, a truth value that is the same for
    all elements would keep compilers from vectors, so it becomes a number."""
    if not loop.length:
        return [], lines
    before, inside, varying = [], [], {loop.name}
    written = {line.partition("[")[0] for line in lines if STORED.match(line)}
    wide = "int32_t" if any(line.startswith("float ") for line in lines) else "int64_t"
    for line in lines:
        defined = DEFINED.fullmatch(line)
        names = names_in(line, places)
        if not defined or not varying.isdisjoint(names) or not written.isdisjoint(names):
            inside.append(line)
            if declared := DECLARED.match(line):  # of any type
                varying.add(declared.group(1))
        else:
            before.append(line.replace("_Bool", wide, 1))
    return before, inside


def names_in(text, places):
    """The names that statements mention, and those in their places in memory."""
    return [*NAME.findall(text), *[n for k in PLACE.findall(text) for n in places[int(k)].names]]


def staged(loop, lines, steps=(), clause="", places=()):
    """(loop over tiles, C lines of one tile) in place of an inner loop and its statements, or None if that is not worth it."""
    parts = _stages(lines, places, steps)
    if parts is None:
        return None
    types, stages, between = parts
    tile = next((size for size, most in TILES if len(between) <= most), None)
    if tile is None or loop.length < 2 * LANES:
        return None
    tile = next((n for n in range(tile, tile * 3 // 4 - 1, -8) if loop.length % n == 0), min(tile, loop.length))
    count, rest = divmod(loop.length, tile)
    start, last = f"({loop.first}) + tile * {tile}", loop.last or (f"({loop.first}) + {loop.length}" if rest else "")
    core = [f"int64_t start = {start}, until = start + {tile};", *([f"if (until > {last}) until = {last};"] if last else [])]
    core += [f"{types[name]} {name}_tile[{tile}] __attribute__((aligned(64)));" for name in between]
    inner = Loop(loop.name, tile, False, "start", "until" if last else "")
    for k, stage in enumerate(stages):
        pragma = "#pragma omp simd" + (clause if k == len(stages) - 1 else "")
        core += [pragma, inner.head, *stage, "}"]
    return Loop("tile", count + bool(rest), False), [line.replace("@", f"{loop.name} - start") for line in core]


def _stages(lines, places, steps):
    """(types of the local variables, lines of each stage, names that one stage makes and a later one reads), or None."""
    level, types, placed = {}, {}, []
    for line in lines:
        stored, defined = STORED.match(line), DEFINED.fullmatch(line)
        if stored:
            text = line
        elif defined:
            text = defined.group(3)
        else:
            return None
        uses = [n for n in dict.fromkeys(names_in(text, places)) if n in level]
        at = max([level[n] for n in uses], default=0) + bool(CALLED.search(text))
        if defined:
            types[defined.group(2)], level[defined.group(2)] = defined.group(1), at
        placed.append((max(at, 1), uses, defined and defined.group(2), line))
    deepest = max([at for at, *_ in placed], default=0)
    if deepest < DEEP:
        return None
    placed += [(deepest, [n for n in dict.fromkeys(names_in(line, places)) if n in level], None, line) for line in steps]
    together = -(-deepest // MOST)
    stages = [[] for _ in range(-(-deepest // together))]
    placed = [(-(-at // together), *rest) for at, *rest in placed]
    level = {name: -(-max(at, 1) // together) for name, at in level.items()}
    between = dict.fromkeys(name for at, uses, *_ in placed for name in uses if level[name] < at)
    read = set()  # (name, stage that has it from the one that made it)
    for at, uses, made, line in placed:
        stage = stages[at - 1]
        for name in uses:
            if level[name] < at and (name, at) not in read:
                read.add((name, at))
                stage.append(f"{types[name]} {name} = {name}_tile[@];")
        stage.append(line)
        if made in between:
            stage.append(f"{made}_tile[@] = {made};")
    return types, stages, list(between)
