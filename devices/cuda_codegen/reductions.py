"""Reductions: threads take some elements each and put their results together in shared memory.

The order depends on shapes alone, so that the same program gives the same numbers on any device. Each sum is one of many
short ones: its rounding error is about that of NumPy's pairwise sum.
"""

from ..codegen.loops.loops import Loop, settled
from ..codegen.loops.nests import fill
from .kernels import BLOCKS, THREADS, CudaBody, Kernel, decoded, is_wide, loops_of, size, written

LANES = 32  # neighbouring results over first axes, which read neighbouring memory
SPLIT = 512  # blocks that share a long reduction of few results
LONG = 16  # elements that each of their threads takes at least


def above(n):
    """The lowest power of two that is no less."""
    return 1 << max(n - 1, 0).bit_length()


class Shape:
    """How a block's threads share a reduction: `lanes` results at a time, `turns` threads for each.

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
        """C of whether a thread has something to do: a block that does other work too may have more threads."""
        return f"lane < {self.lanes}" if self.last else f"turn < {self.turns}"

    @property
    def places(self):
        """C of a thread's lane and turn."""
        fast, slow = ("turn", "lane") if self.last else ("lane", "turn")
        n = self.turns if self.last else self.lanes
        return [f"const int {fast} = threadIdx.x % {n}, {slow} = threadIdx.x / {n};"]


def reduction(nest, graph, names):
    """The kernels of a nest with reductions: one, or two where many blocks share each result."""
    body = CudaBody(graph)
    sums = fill(nest, body)
    targets = [body.access(buffer, kept) for _, _, buffer, kept in sums]
    loops = loops_of(nest, body)
    kept, reduced = [x for x in loops if not x.reduced], [x for x in loops if x.reduced]
    shape = Shape(kept, reduced, not loops or loops[-1].reduced)
    if not shape.results:
        return []
    steps = [(t, text) for t, text, *_ in sums]
    wide, writes = is_wide(nest, body), written(nest, graph)
    shared = THREADS * max(t.dtype.itemsize for t, _ in steps)
    groups = -(-shape.results // shape.lanes)
    parts = min(SPLIT // groups, shape.each // (shape.turns * LONG))
    head = f"for (I o = blockIdx.x * {shape.lanes}; o < {shape.results}; o += gridDim.x * {shape.lanes}) {{"
    blocks = min(groups, BLOCKS)
    if parts < 2:
        lines = [*shape.places, head, *reduced_by(shape, steps, body.lines, targets), "}"]
        return [Kernel(settled(lines, body.places), (blocks,), shape.threads, writes, shared, wide)]
    partial = [names.new("p", t.dtype, parts * shape.results) for t, _ in steps]
    wide = wide or parts * shape.results >= 2**30
    bounds = [f"(int64_t){shape.each} * {part} / {parts}" for part in ("blockIdx.y", "(blockIdx.y + 1)")]
    inner = reduced_by(shape, steps, body.lines, [f"{p}[blockIdx.y * (I){shape.results} + k]" for p in partial], *bounds)
    lines = settled([*shape.places, head, *inner, "}"], body.places)
    first = Kernel(lines, (blocks, parts), shape.threads, {*writes, *partial}, shared, wide)
    again = Shape(kept, [Loop("part", parts, True)], shape.results == 1)
    steps = [(t, f"{p}[part * (I){shape.results} + k]{' != 0' * (t.dtype.kind == 'b')}") for (t, _), p in zip(steps, partial)]
    head = f"for (I o = blockIdx.x * {again.lanes}; o < {again.results}; o += gridDim.x * {again.lanes}) {{"
    lines = [*again.places, head, *reduced_by(again, steps, [], targets), "}"]
    blocks = min(-(-again.results // again.lanes), BLOCKS)
    return [first, Kernel(settled(lines, body.places), (blocks,), again.threads, writes, shared, wide)]


def reduced_by(shape, steps, inside, targets, begin="0", end=None):
    """C of the reduction of `lanes` results, from the `o`th on.

    steps: pairs (Accumulator, C text of an element); inside: statements before; targets: C text of where results go; begin,
    end: of the elements to take.
    """
    lines = [f"const I k = o + lane; const bool mine = {shape.takes_part} && k < {shape.results};", *decoded(shape.kept, "k")]
    lines += [f"{t.ctype} {t.name} = {t.start};" for t, _ in steps]
    end = shape.each if end is None else end
    lines.append(f"if (mine) for (I r = {begin} + turn; r < {end}; r += {shape.turns}) {{")
    lines += [*decoded(shape.reduced, "r"), *inside]
    lines += [f"{{ {t.ctype} u = {t.name}, v = {text}; {t.name} = {t.combine('u', 'v')}; }}" for t, text in steps]
    lines.append("}")
    for (t, _), target in zip(steps, targets, strict=True):
        if shape.turns == 1:
            lines.append(f"if (mine) {target} = {t.name};")
            continue
        here, other = f"s[turn * {shape.lanes} + lane]", f"s[(turn + half) * {shape.lanes} + lane]"
        together = f"if (mine && turn < half) {{ {t.ctype} u = {here}, v = {other}; {here} = {t.combine('u', 'v')}; }}"
        lines += [f"{{ {t.ctype} *s = ({t.ctype} *)shared; if (mine) {here} = {t.name};", "__syncthreads();"]
        lines += [f"for (int half = {shape.turns // 2}; half > 0; half >>= 1) {{", together, "__syncthreads(); }"]
        lines += [f"if (turn == 0 && mine) {target} = s[lane];", "__syncthreads(); }"]
    return lines
