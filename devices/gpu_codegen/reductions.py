"""Reductions: threads take some elements each and put their results together in shared memory.

The order depends on shapes alone, so that the same program gives the same numbers on any device. Each sum is one of many
short ones: its rounding error is about that of NumPy's pairwise sum.
"""

from ..codegen.loops.bodies import truth
from ..codegen.loops.loops import Loop
from ..codegen.loops.nests import fill
from ..codegen.loops.reductions import element
from ..codegen.text.expressions import Name, c
from ..codegen.text.statements import Assign, Block, Do, If, Local, Shared, scope
from .dialects import BLOCK, BLOCK_Y, BLOCKS_IN_GRID, THREAD, WAIT
from .kernels import BLOCKS, THREADS, Kernel, KernelBody, decoded, is_wide, loops_of, size, strided, written

LANES = 32  # neighbouring results over first axes, which read neighbouring memory
SPLIT = 512  # blocks that share a long reduction of few results
LONG = 16  # elements that each of their threads takes at least
LANE, TURN, RESULT = Name("lane"), Name("turn"), Name("k")
HERE = Do(WAIT)


def above(n):
    """The lowest power of two that is no less."""
    return 1 << max(n - 1, 0).bit_length()


class Shape:
    """Division of a reduction among a block's threads: `lanes` results at a time, `turns` threads for each.

    kept, reduced: loops, in any order. last: whether the innermost loop is reduced: then neighbouring threads work on the same
    result, else on neighbouring ones, so that they read neighbouring memory.
    """

    def __init__(self, kept, reduced, last, threads=THREADS):
        self.kept, self.reduced = kept, reduced
        self.results, self.each = size(kept), size(reduced)
        if last:
            self.turns = min(threads, above(self.each))
            self.lanes = min(threads // self.turns, above(self.results))
        else:
            self.lanes = min(LANES, threads, above(self.results))
            self.turns = min(threads // self.lanes, above(self.each))
        self.last = last

    @property
    def threads(self):
        return self.lanes * self.turns

    @property
    def takes_part(self):
        """Return whether a thread has something to do: a block that does other work too may have more threads."""
        return c("{} < {}", LANE, self.lanes) if self.last else c("{} < {}", TURN, self.turns)

    @property
    def places(self):
        """A thread's lane and turn."""
        fast, slow = ("turn", "lane") if self.last else ("lane", "turn")
        n = self.turns if self.last else self.lanes
        return [Local("const int", fast, c("{} % {}", THREAD, n)), Local("const int", slow, c("{} / {}", THREAD, n))]

    def over_results(self, body):
        """A loop over the results, which blocks share."""
        first, step = [c("{} * {}", number, self.lanes) for number in (BLOCK, BLOCKS_IN_GRID)]
        return strided("o", first, self.results, step, body)


def reduction(nest, graph, names):
    """The kernels of a nest with reductions: one, or two where many blocks share each result."""
    body = KernelBody(graph)
    sums = fill(nest, body)
    targets = [body.access(buffer, kept) for _, _, buffer, kept in sums]
    loops = loops_of(nest, body)
    kept, reduced = [x for x in loops if not x.reduced], [x for x in loops if x.reduced]
    shape = Shape(kept, reduced, not loops or loops[-1].reduced)
    if not shape.results:
        return []
    steps = [(t, value) for t, value, *_ in sums]
    wide, writes = is_wide(nest, body), written(nest, graph)
    shared = THREADS * max(t.dtype.itemsize for t, _ in steps)
    groups = -(-shape.results // shape.lanes)
    parts = min(SPLIT // groups, shape.each // (shape.turns * LONG))
    blocks = min(groups, BLOCKS)
    if parts < 2:
        whole = [*shape.places, shape.over_results(reduced_by(shape, steps, body.statements, targets))]
        return [Kernel(whole, (blocks,), shape.threads, writes, shared, wide)]
    partial = [names.new("p", t.dtype, parts * shape.results) for t, _ in steps]
    wide = wide or parts * shape.results >= 2**30
    bounds = [c("(int64_t){} * {} / {}", shape.each, part, parts) for part in (BLOCK_Y, c("({} + 1)", BLOCK_Y))]
    here = [element(p, c("{} * (I){} + {}", BLOCK_Y, shape.results, RESULT)) for p in partial]
    part = [*shape.places, shape.over_results(reduced_by(shape, steps, body.statements, here, *bounds))]
    first = Kernel(part, (blocks, parts), shape.threads, {*writes, *partial}, shared, wide)
    again = Shape(kept, [Loop("part", parts, True)], shape.results == 1)
    there = [element(p, c("{} * (I){} + {}", Name("part"), shape.results, RESULT)) for p in partial]
    steps = [(t, truth(x) if t.dtype.kind == "b" else x) for (t, _), x in zip(steps, there)]
    together = [*again.places, again.over_results(reduced_by(again, steps, [], targets))]
    blocks = min(-(-again.results // again.lanes), BLOCKS)
    return [first, Kernel(together, (blocks,), again.threads, writes, shared, wide)]


def reduced_by(shape, steps, inside, targets, begin: object = "0", end=None):
    """Statements of the reduction of `lanes` results, from the `o`th on.

    steps: pairs (Accumulator, an element); inside: statements before; targets: where results go; begin, end: of the elements to
    take.
    """
    mine, u, v = Name("mine"), Name("u"), Name("v")
    body: list = [Local("const I", "k", c("{} + {}", Name("o"), LANE))]
    body.append(Local("const bool", "mine", c("{} && {} < {}", shape.takes_part, RESULT, shape.results)))
    body += [*decoded(shape.kept, "k"), *[t.started() for t, _ in steps]]
    joint = lambda t, target, a, b: [Local(t.ctype, "u", a), Local(t.ctype, "v", b), Assign(target, t.combine(u, v))]
    taken = [scope(*joint(t, t.variable, t.variable, value)) for t, value in steps]
    end = shape.each if end is None else end
    first = c("{} + {}", begin, TURN)
    body.append(If(mine, [strided("r", first, end, shape.turns, [*decoded(shape.reduced, "r"), *inside, *taken])]))
    for (t, _), target in zip(steps, targets, strict=True):
        if shape.turns == 1:
            body.append(If(mine, [Assign(target, t.variable)]))
            continue
        half = Name("half")
        here = element("s", c("{} * {} + {}", TURN, shape.lanes, LANE))
        other = element("s", c("({} + {}) * {} + {}", TURN, half, shape.lanes, LANE))
        step = [If(c("{} && {} < {}", mine, TURN, half), joint(t, here, here, other)), HERE]
        head = c("for (int {0} = {1}; {0} > 0; {0} >>= 1)", half, shape.turns // 2)
        body.append(scope(
            Shared(t.ctype, "s"), If(mine, [Assign(here, t.variable)]), HERE, Block(head, step, (("int", "half"),)),
            If(c("{} == 0 && {}", TURN, mine), [Assign(target, element("s", LANE))]), HERE,
        ))  # fmt: skip
    return body
