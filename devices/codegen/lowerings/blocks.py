"""Operations that fill an array part by part: joined ones, and writes at places."""

from ....dsl import operations
from ....dsl.avals import normalize_axis
from ....dsl.ir.programs import Var
from ....dsl.ops.indexing import result_aval
from ...lowering import lowering
from ..loops.index_maps import selected
from ..loops.nests import Nest, Store


def concatenate(e, graph):
    """One nest for each array, which stores into its part of the result."""
    out, axis, start = e.outputs[0], e.params.get("axis", 0), 0
    nests = []
    for x in e.inputs:
        if axis is None:
            source, shape = graph.flat(x), (x.aval.size,)
        else:
            source, shape = x, x.aval.shape
        along = 0 if axis is None else normalize_axis("concatenate", axis, len(shape))
        nests.append(Nest(shape, [Store(out, source, shifted(along, start))]))
        start += shape[along]
    return nests


lowering(
    operations["concatenate"], nests=concatenate,
    memory=lambda e: e.inputs if e.params.get("axis", 0) is None else [],
)  # fmt: skip


def shifted(axis, by):
    """The place in the whole of an element of a part."""
    return lambda body, idx: tuple(i + by if a == axis else i for a, i in enumerate(idx))


def _write(add):
    def write(e, graph):
        x, v, *arrays = e.inputs
        out, spec = e.outputs[0], e.params["spec"]
        shape = result_aval(out.aval, [a.aval if isinstance(a, Var) else a for a in arrays], spec).shape
        place = lambda body, idx: selected(body, out.aval.shape, arrays, spec, idx)
        copy = [] if e in graph.in_place else [Nest(out.aval.shape, [Store(out, x)])]
        return [*copy, Nest(shape, [Store(out, v, place, add)], sequential=bool(arrays))]

    return write


for name, add in (("index_set", False), ("index_add", True)):
    lowering(operations[name], nests=_write(add), in_place=True)
