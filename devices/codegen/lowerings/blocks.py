"""Operations that fill an array part by part: joined ones, and writes at places."""

from ....dsl import operations
from ....dsl.avals import normalize_axis
from ....dsl.ir.programs import Var
from ....dsl.ops.indexing import ARRAY, result_aval
from ...lowering import lowering
from ..loops.index_maps import selected
from ..loops.nests import Nest, Store, added
from ..text.indices import Buffer, Index, aligned, points
from ..text.scalars import Unsupported, ctype, memory_type
from ..text.statements import Array, Assign


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


def joined_element(body, e, idx):
    axis, out = e.params.get("axis", 0), e.outputs[0]
    if axis is None:
        raise Unsupported("flat concatenation")
    axis = normalize_axis("concatenate", axis, out.aval.ndim)
    at = idx[axis].const
    for x in e.inputs:
        n = x.aval.shape[axis]
        if at < n:
            return body.at(x, tuple(Index(at) if a == axis else i for a, i in enumerate(idx)), out.aval.dtype)
        at -= n
    raise Unsupported("an element outside of an array")


lowering(
    operations["concatenate"], nests=concatenate, element=joined_element,
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


def _written_element(add):
    """An element of an array after a write to some places: known in advance where the places are."""

    def element(body, e, idx):
        x, v, *arrays = e.inputs
        out, spec = e.outputs[0], e.params["spec"]
        shape = result_aval(out.aval, [a.aval if isinstance(a, Var) else a for a in arrays], spec).shape
        if any(part is ARRAY for part in spec):
            return _write_to_memory(body, e, shape, add)
        places = body.__dict__.setdefault("written", {})
        if out not in places:
            places[out] = {}
            for point in points(shape):
                places[out].setdefault(selected(body, out.aval.shape, arrays, spec, point), []).append(point)
        before = body.operand(x, idx, out.aval.dtype) if add or idx not in places[out] else None
        for point in places[out].get(idx, ()):
            value = body.operand(v, aligned(point, v.aval.shape) if isinstance(v, Var) else point, out.aval.dtype)
            before = body.local(ctype(out.aval.dtype), added(before, value, out.aval.dtype)) if add else value
        return before

    return element


def _write_to_memory(body, e, shape, add):
    x, v, *arrays = e.inputs
    out, spec = e.outputs[0], e.params["spec"]
    values = body.elements(x, out.aval)
    name = body.graph.functions.unique("m")
    buffer = Buffer(name, out.aval.dtype, out.aval.shape)
    body.statements.append(Array(memory_type(out.aval.dtype), name, max(len(values), 1), tuple(values)))
    for point in points(shape):
        value = body.operand(v, aligned(point, v.aval.shape) if isinstance(v, Var) else point, out.aval.dtype)
        target = body.access(buffer, selected(body, out.aval.shape, arrays, spec, point))
        body.statements.append(Assign(target, added(target, value, out.aval.dtype) if add else value))
    body.graph.buffers[out] = buffer


for name, add in (("index_set", False), ("index_add", True)):
    lowering(operations[name], nests=_write(add), element=_written_element(add), in_place=True)
