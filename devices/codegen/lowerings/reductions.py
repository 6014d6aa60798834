"""Reductions: each by its sign, in nests that other passes share."""

from ....dsl import operations
from ....dsl.avals import reduced_axes
from ...lowering import lowering, record
from ..loops.reductions import Accumulator
from ..text.indices import points


def reduced(body, e, idx):
    """A reduction, put together pairwise."""
    x, out = e.inputs[0], e.outputs[0]
    axes, keep = reduced_axes(e.op.__name__, x.aval, e.params.get("axis")), e.params.get("keepdims", False)
    total = Accumulator(record(e).reduce, out.aval.dtype, "a")
    left = iter(idx)
    kept = [next(left) if keep or a not in axes else None for a in range(x.aval.ndim)]
    found = []
    for point in points([x.aval.shape[a] for a in axes]):
        at = dict(zip(axes, point, strict=True))
        found.append(body.at(x, tuple(at.get(a, kept[a]) for a in range(x.aval.ndim)), total.taken_as(x.aval.dtype)))
    if total.taken_as(x.aval.dtype) != total.dtype:
        found = [body.local(total.ctype, value) for value in found]
    if not found:
        return body.local(total.ctype, total.start)
    if len(found) == 1:
        return body.local(total.ctype, found[0])
    while len(found) > 1:
        pairs = [body.local(total.ctype, total.combine(a, b)) for a, b in zip(found[::2], found[1::2])]
        found = pairs + found[len(pairs) * 2 :]
    return found[0]


for name, sign in (("sum", "+"), ("prod", "*"), ("max", "max"), ("min", "min"), ("all", "&"), ("any", "|")):
    lowering(operations[name], reduce=sign, element=reduced)
