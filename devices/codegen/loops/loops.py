"""Loops in C: their text, what threads share, and loops over memory without gaps that become one."""

import re
from dataclasses import dataclass

PLACE = re.compile(r"⟨(\d+)⟩")


@dataclass
class Loop:
    """name: of the counter; reduced: a reduction runs over it. first, last: C text instead of 0 and the length. Without `last`
    it counts from 0 and adds `first`: compilers then know how often it runs, and write no remainder."""

    name: str
    length: int
    reduced: bool
    first: str = "0"
    last: str = ""

    @property
    def head(self):
        if self.first != "0" and not self.last:
            q = f"{self.name}q"
            return f"for (int64_t {q} = 0; {q} < {self.length}; {q}++) {{ int64_t {self.name} = {self.first} + {q};"
        return f"for (int64_t {self.name} = {self.first}; {self.name} < {self.last or self.length}; {self.name}++) {{"


def around(loops, core, pragma, parallel):
    """Loops around statements; the pragma is for the innermost one, the first one is shared among threads."""
    lines = list(core)
    if not loops:
        return ["{", *lines, "}"]
    for k in reversed(range(len(loops))):
        words = ("parallel for " if parallel and k == 0 else "") + (pragma if k == len(loops) - 1 else "")
        shared = shares(loops[k].length) if words.startswith("parallel") else ""
        lines = [*([f"#pragma omp {words}{shared}"] if words else []), loops[k].head, *lines, "}"]
    return lines


def shares(length):
    """How threads divide a loop: in a few dozen parts, so that one that is held up holds up little."""
    part = max(1, length // 32)
    return f" if(parallel: threads) schedule(dynamic, {part + -part % 64 if part > 64 else part})"


def settled(lines, places):
    """Lines with the places filled in."""
    return [PLACE.sub(lambda m: str(places[int(m.group(1))]), line) for line in lines]


def merged(loops, places, pinned):
    """Loops put together where memory is passed through without a gap: (i, j) of lengths n, m as one of length n·m."""
    loops = list(loops)
    k = len(loops) - 2
    while k >= 0:
        a, b = loops[k], loops[k + 1]
        fits = a.reduced == b.reduced and not {a.name, b.name} & pinned
        if fits and all(p.coefficient(a.name) == p.coefficient(b.name) * b.length for p in places):
            loops[k : k + 2] = [Loop(b.name, a.length * b.length, a.reduced)]
            places[:] = [p.without({a.name}) for p in places]
        k -= 1
    return loops
