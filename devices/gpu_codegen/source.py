"""The text of a straight line of equations in a dialect: its kernels, in order, and the memory between them."""

import math
from dataclasses import dataclass

from ...dsl.ir.pass_selection import on
from ..codegen.loops.bodies import Graph
from ..codegen.loops.fusion import Rows
from ..codegen.loops.nests import Nest, Reduce
from ..codegen.plan.plan import Plan
from ..codegen.text.indices import Buffer
from .fusion import in_blocks, localize, rows
from .kernels import Names, elementwise
from .printer import KernelPrinter
from .reductions import reduction
from .writes import writes


@dataclass
class Launch:
    """One kernel's launch. arguments: names of its buffers. fresh: (name, dtype, elements, whether zeros) of temporaries that
    it is the first to use; done: names of those it is the last to use."""

    name: str
    blocks: tuple
    threads: int
    arguments: list
    fresh: list
    done: list


class KernelSource:
    """Kernels that compute outputs from inputs.

    dialect: of the text. equations: all lowerable in it; inputs, outputs: Vars, whose arrays are the buffers x0… and y0… in
    their order; literals: Var -> number that stands for a constant. `text` is the source, `launches` say how to run it; none
    where nothing is to be computed.
    Raises Unsupported for what the dialect cannot say.
    """

    def __init__(self, dialect, equations, inputs, outputs, literals=None):
        self.inputs, self.outputs = list(inputs), list(outputs)
        functions = dialect.functions()
        graph = Graph(functions)
        graph.literals = dict(literals or {})
        for letter, group in (("x", inputs), ("y", outputs)):
            for k, v in enumerate(group):
                graph.buffers[v] = Buffer(f"{letter}{k}", v.aval.dtype, v.aval.shape)
        plan = Plan(equations, outputs, graph)
        groups, names = in_blocks(plan.nests, plan.memory, dialect.arrays) if on("fusion") else plan.nests, Names()
        kernels = [k for g in groups for k in self._kernels(g, groups, plan, graph, names)]
        dtypes = {b.name: b.dtype for b in graph.buffers.values()} | names.dtypes
        sizes = {graph.buffers[v].name: math.prod(v.aval.shape) for v in plan.temporaries} | names.sizes
        printer = KernelPrinter(dialect)
        body = [printer.kernel(k, f"k{i}", dtypes) for i, k in enumerate(kernels)]
        self.text = functions.prelude(equations) + "\n".join([functions.text, *body]) + "\n"
        self.launches = launches(kernels, dtypes, sizes)

    def _kernels(self, g, groups, plan, graph, names):
        if isinstance(g, Rows):
            others = [x for x in groups if x is not g]
            elsewhere = {plan.memory(v) for x in others for v in (*x.writes, *[v for v, _ in x.reads])}
            return rows(g, graph, *localize(g, elsewhere, plan.temporaries, plan.memory, graph))
        if not isinstance(g, Nest):
            raise AssertionError(f"{type(g).__name__} is no pass of a kernel")
        if g.sequential:
            return writes(g, graph, names)
        return reduction(g, graph, names) if any(isinstance(r, Reduce) for r in g.roots) else elementwise(g, graph)


def launches(kernels, dtypes, sizes):
    """Launches of kernels in order. sizes: name of a temporary -> elements."""
    last = {b: i if on("buffer_reuse") else len(kernels) for i, k in enumerate(kernels) for b in k.buffers if b in sizes}
    made, seen = [], set()
    for i, k in enumerate(kernels):
        fresh = [b for b in k.buffers if b in sizes and b not in seen]
        seen.update(fresh)
        new = [(b, dtypes[b], sizes[b], b in k.cleared) for b in fresh]
        made.append(Launch(f"k{i}", k.blocks, k.threads, k.buffers, new, [b for b in last if last[b] == i]))
    return made
