"""Writes at places that index arrays say, which may repeat: sums by atomics; of several values for a place the last one stays.

Sums of floating numbers at repeated places are added in no particular order. A value is written where no later one wants to
be: a first kernel notes the last writer of each place, a second one lets it write.
"""

import math

from ...dsl.ir.programs import Var
from ..codegen.loops.loops import settled
from ..codegen.loops.nests import counters
from ..codegen.text.indices import Buffer
from ..codegen.text.scalars import cast
from .kernels import CudaBody, Kernel, decoded, grid, is_wide, loops_of, over_grid, size, written


def writes(nest, graph, names):
    """The kernels of a nest that writes one value in each iteration, at a place of its own."""
    (root,) = nest.roots
    buffer, idx = graph.buffers[root.var], counters(nest.shape)
    body = CudaBody(graph)
    if isinstance(root.atom, Var):
        text = cast(body.operand(root.atom, idx, root.atom.aval.dtype), root.atom.aval.dtype, buffer.dtype)
    else:
        text = body.operand(root.atom, idx, buffer.dtype)
    where = root.place(body, idx)
    target = body.access(buffer, where)
    loops = loops_of(nest, body)
    total = size(loops)
    if not total:
        return []
    head, wide, touched = [over_grid(total), *decoded(loops, "q"), *body.lines], is_wide(nest, body), written(nest, graph)
    lines = lambda last: settled([*head, last, "}"], body.places)
    if root.add:
        add = f"if ({text}) {target} = 1;" if buffer.dtype.kind == "b" else f"add_at(&{target}, {text});"
        return [Kernel(lines(add), *grid(total), touched, wide=wide)]
    last = names.new("w", "uint64" if total >= 2**32 - 1 else "uint32", math.prod(buffer.shape))
    kind = "unsigned long long" if total >= 2**32 - 1 else "unsigned"
    writer = body.access(Buffer(last, names.dtypes[last], buffer.shape), where)
    note = Kernel(lines(f"atomicMax(&{writer}, ({kind})q + 1);"), *grid(total), {last}, wide=wide, cleared=(last,))
    return [note, Kernel(lines(f"if ({writer} == ({kind})q + 1) {target} = {text};"), *grid(total), touched, wide=wide)]
