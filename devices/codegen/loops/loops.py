"""Loops: what threads share of them, and loops over memory without gaps that become one."""

from dataclasses import dataclass

from ..text.expressions import Name, c
from ..text.statements import Block, Local, count


@dataclass
class Loop:
    """name: of the counter; reduced: a reduction runs over it. first, last: expressions instead of 0 and the length. Without
    `last` it counts from 0 and adds `first`: compilers then know how often it runs, and write no remainder."""

    name: str
    length: int
    reduced: bool
    first: object = "0"
    last: object = ""

    def around(self, body, **options):
        """The statement of this loop. options: of a `Block`."""
        if self.first != "0" and not self.last:
            q = f"{self.name}q"
            here = Local("int64_t", self.name, c("{} + {}", self.first, Name(q)))
            return count(q, 0, self.length, [here, *body], **options)
        return count(self.name, self.first, self.last or self.length, list(body), **options)


def around(loops, core, simd=False, parallel=False, clause="", unroll=False):
    """Loops around statements; simd and clause are for the innermost one, the first one is shared among threads. unroll: they
    are to be written out, see `unrolling.py`."""
    statements = list(core)
    if not loops:
        return [Block(None, statements)]
    if unroll:
        for loop in reversed(loops):
            statements = [loop.around(statements, rounds=loop.length)]
        return statements
    for k in reversed(range(len(loops))):
        last = k == len(loops) - 1
        shared = shares(loops[k].length) if parallel and k == 0 else None
        statements = [loops[k].around(statements, simd=simd and last, clause=clause if last else "", shared=shared)]
    return statements


def shares(length):
    """Choose how threads divide a loop: in a few dozen parts, so that one that is held up holds up little."""
    part = max(1, length // 32)
    return f" if(parallel: threads) schedule(dynamic, {part + -part % 64 if part > 64 else part})"


def merged(loops, accesses):
    """Loops put together where memory is passed through without a gap: (i, j) of lengths n, m as one of length n·m. Changes the
    places of accesses."""
    loops = list(loops)
    k = len(loops) - 2
    while k >= 0:
        a, b = loops[k], loops[k + 1]
        if a.reduced == b.reduced and all(
            x.place.coefficient(a.name) == x.place.coefficient(b.name) * b.length for x in accesses
        ):
            loops[k : k + 2] = [Loop(b.name, a.length * b.length, a.reduced)]
            for x in accesses:
                x.place = x.place.without({a.name})
        k -= 1
    return loops
