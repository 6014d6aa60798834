"""Writes at places that index arrays say, which may repeat: sums by atomics; of several values for a place the last one stays.

Sums of floating numbers at repeated places are added in no particular order. A value is written where no later one wants to
be: a first kernel notes the last writer of each place, a second one lets it write.
"""

import math

import numpy as np

from ...dsl.ir.programs import Var
from ..codegen.loops.nests import counters
from ..codegen.text.expressions import Name, Type, c, call
from ..codegen.text.indices import Buffer
from ..codegen.text.scalars import cast, ctype
from ..codegen.text.statements import Assign, Do, If
from .kernels import Kernel, KernelBody, decoded, grid, is_wide, loops_of, over_grid, size, written


def writes(nest, graph, names):
    """The kernels of a nest that writes one value in each iteration, at a place of its own."""
    (root,) = nest.roots
    functions = graph.functions
    buffer, idx = graph.buffers[root.var], counters(nest.shape)
    body = KernelBody(graph)
    if isinstance(root.atom, Var):
        value = cast(body.operand(root.atom, idx, root.atom.aval.dtype), root.atom.aval.dtype, buffer.dtype)
    else:
        value = body.operand(root.atom, idx, buffer.dtype)
    where = root.place(body, idx)
    target = body.access(buffer, where)
    loops = loops_of(nest, body)
    total = size(loops)
    if not total:
        return []
    wide, touched = is_wide(nest, body), written(nest, graph)
    loop = lambda last: [over_grid(total, [*decoded(loops, "q"), *body.statements, last])]
    if root.add:
        if buffer.dtype.kind == "b":
            sure = If(value, [Assign(target, "1")])
        else:
            sure = Do(call(functions.added(buffer.dtype), c("&{}", target), value))
        return [Kernel(loop(sure), *grid(total), touched, wide=wide)]
    order = np.dtype(np.uint64 if total >= 2**32 - 1 else np.uint32)
    last = names.new("w", order, math.prod(buffer.shape))
    number = c("({}){} + 1", Type(ctype(order)), Name("q"))
    writer = body.access(Buffer(last, order, buffer.shape), where)
    note = Do(call(functions.raised(order), c("&{}", writer), number))
    write = If(c("{} == {}", writer, number), [Assign(target, value)])
    first = Kernel(loop(note), *grid(total), {last}, wide=wide, cleared=(last,))
    return [first, Kernel(loop(write), *grid(total), touched, wide=wide)]
