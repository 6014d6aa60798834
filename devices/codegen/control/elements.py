"""Single elements of reductions, concatenations, writes, products and cumulated sums of small arrays, as C variables."""

from ....dsl import operations
from ....dsl.avals import normalize_axis, reduced_axes
from ....dsl.ir.programs import Var
from ....dsl.ops.indexing import ARRAY, result_aval
from ...lowering import lowering, record
from ..loops.index_maps import selected
from ..loops.nests import added
from ..loops.reductions import Accumulator
from ..text.indices import Buffer, Index, aligned
from ..text.scalars import Unsupported, cast, ctype, literal, memory_type
from .registers import points


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
        found = [body.local(total.ctype, text) for text in found]
    if not found:
        return body.local(total.ctype, total.start)
    if len(found) == 1:
        return body.local(total.ctype, found[0])
    while len(found) > 1:
        pairs = [body.local(total.ctype, total.combine(a, b)) for a, b in zip(found[::2], found[1::2])]
        found = pairs + found[len(pairs) * 2 :]
    return found[0]


for name in ("sum", "prod", "max", "min", "all", "any"):
    lowering(operations[name], element=reduced)


def concatenate(body, e, idx):
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


lowering(operations["concatenate"], element=concatenate)


def reshape(body, e, idx):
    flat, shape, place = 0, e.inputs[0].aval.shape, []
    for i, n in zip(idx, e.outputs[0].aval.shape, strict=True):
        flat = flat * n + i.const
    for n in reversed(shape):
        place.append(Index(flat % n))
        flat //= n
    return body.value(e.inputs[0], tuple(reversed(place)))


lowering(operations["reshape"], element=reshape)


def write(add):
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
            text = body.operand(v, aligned(point, v.aval.shape) if isinstance(v, Var) else point, out.aval.dtype)
            before = body.local(ctype(out.aval.dtype), added(before, text, out.aval.dtype)) if add else text
        return before

    return element


def _write_to_memory(body, e, shape, add):
    x, v, *arrays = e.inputs
    out, spec = e.outputs[0], e.params["spec"]
    values = body.elements(x, out.aval)
    name = body.graph.functions.unique("m")
    buffer = Buffer(name, out.aval.dtype, out.aval.shape)
    body.lines.append(f"{memory_type(out.aval.dtype)} {name}[{max(len(values), 1)}] = {{{', '.join(values)}}};")
    for point in points(shape):
        text = body.operand(v, aligned(point, v.aval.shape) if isinstance(v, Var) else point, out.aval.dtype)
        target = body.access(buffer, selected(body, out.aval.shape, arrays, spec, point))
        body.lines.append(f"{target} = {added(target, text, out.aval.dtype) if add else text};")
    body.graph.buffers[out] = buffer


lowering(operations["index_set"], element=write(False))
lowering(operations["index_add"], element=write(True))


def matmul(body, e, idx):
    x, y = e.inputs
    dtype = e.outputs[0].aval.dtype
    if x.aval.dtype != dtype or y.aval.dtype != dtype:
        raise Unsupported("a product of different dtypes")
    lead = idx[: len(idx) - (x.aval.ndim > 1) - (y.aval.ndim > 1)]
    row = (idx[len(lead)],) if x.aval.ndim > 1 else ()
    column = (idx[-1],) if y.aval.ndim > 1 else ()
    total = None
    for l in range(x.aval.shape[-1]):
        a = body.value(x, (*aligned(lead, x.aval.shape[:-2]), *row, Index(l)))
        b = body.value(y, (*aligned(lead, y.aval.shape[:-2]), Index(l), *column))
        if dtype.kind == "b":
            text = f"{a} && {b}"
        elif dtype.kind == "c":
            text = f"{body.graph.functions.word('multiply', dtype)}({a}, {b})"
        else:
            text = f"({ctype(dtype)})({a} * {b})"
        term = body.local(ctype(dtype), text)
        total = term if total is None else body.local(ctype(dtype), added(total, term, dtype))
    return literal(0, dtype) if total is None else total


lowering(operations["matmul"], element=matmul, steps=lambda e: e.outputs[0].aval.size * e.inputs[0].aval.shape[-1])


def cumulated(sign):
    def element(body, e, idx):
        x, out, axis = e.inputs[0], e.outputs[0], e.params.get("axis")
        dtype = out.aval.dtype
        if axis is None and x.aval.ndim != 1 or dtype.kind == "b" or (dtype.kind == "c" and sign == "*"):
            raise Unsupported("cumulated so")
        axis = 0 if axis is None else normalize_axis(e.op.__name__, axis, x.aval.ndim)
        text = body.at(x, idx, dtype)
        if idx[axis].const == 0:
            return body.local(ctype(dtype), text)
        before = body.value(out, tuple(i + -1 if a == axis else i for a, i in enumerate(idx)))
        return body.local(ctype(dtype), f"{before} {sign} {text}")

    return element


lowering(operations["cumsum"], element=cumulated("+"))
lowering(operations["cumprod"], element=cumulated("*"))


def place_of(compare):
    def element(body, e, idx):
        x, axis, keep = e.inputs[0], e.params.get("axis"), e.params.get("keepdims", False)
        dtype = x.aval.dtype
        if axis is None and x.aval.ndim != 1 or dtype.kind == "c":
            raise Unsupported("places of extrema so")
        axis = 0 if axis is None else normalize_axis(e.op.__name__, axis, x.aval.ndim)
        kept = list(idx) if keep else [*idx[:axis], None, *idx[axis:]]
        best = place = None
        for k in range(x.aval.shape[axis]):
            text = body.value(x, tuple(Index(k) if a == axis else i for a, i in enumerate(kept)))
            if best is None:
                best, place = text, "0"
                continue
            better = f"{text} {compare} {best}"
            if dtype.kind == "f":
                better = f"{best} == {best} && ({better} || {text} != {text})"
            better = body.local("_Bool", better)
            best = body.local(ctype(dtype), f"{better} ? {text} : {best}")
            place = body.local("int64_t", f"{better} ? {k} : {place}")
        if place is None:
            raise Unsupported("places of extrema of nothing")
        return cast(place, "int64", e.outputs[0].aval.dtype)

    return element


lowering(operations["argmax"], element=place_of(">"))
lowering(operations["argmin"], element=place_of("<"))
