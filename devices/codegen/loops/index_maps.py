"""Operations that only move elements, as maps from an index of the result to an index of the argument."""

import numpy as np

from ....dsl import operations
from ....dsl.avals import shape_of
from ....dsl.ir.programs import Var
from ....dsl.ops.indexing import ARRAY, Slice, _advanced_place
from ....dsl.ops.shape import full_permutation
from ...lowering import lowering, record
from ..text.indices import ZERO, Index, aligned
from ..text.scalars import Unsupported


def transpose(body, e, idx):
    x = e.inputs[0]
    order = full_permutation("transpose", e.params.get("axes"), x.aval.ndim)
    source = [ZERO] * len(order)
    for place, axis in enumerate(order):
        source[axis] = idx[place] if x.aval.shape[axis] != 1 else ZERO
    return body.value(x, tuple(source))


def broadcast_to(body, e, idx):
    return body.operand(e.inputs[0], idx, e.outputs[0].aval.dtype)


def reshape(body, e, idx):
    """Axes of length 1 come and go; other changes of shape are read from memory, see `moves_elements`."""
    x = e.inputs[0]
    lengths = e.outputs[0].aval.shape
    moving = iter([i for i, n in zip(idx, lengths, strict=True) if n != 1])
    return body.value(x, tuple(ZERO if n == 1 else next(moving) for n in x.aval.shape))


def moves_elements(e):
    """Return whether a change of shape does more than insert and drop axes of length 1."""
    longer = lambda shape: [n for n in shape if n != 1]
    return longer(e.inputs[0].aval.shape) != longer(e.outputs[0].aval.shape)


def aliases(e):
    """Return whether the result of an equation is its argument's memory."""
    alias = record(e).alias
    return alias is not None and alias(e)


def mapped(e):
    """Return how the index of an element becomes one of an argument, where that is all an equation does; else None."""
    return None if aliases(e) else record(e).index_map


def same(body, e, idx):
    return body.value(e.inputs[0], idx)


def index(body, e, idx):
    x, arrays = e.inputs[0], e.inputs[1:]
    return body.value(x, selected(body, x.aval.shape, arrays, e.params["spec"], idx))


def selected(body, shape, arrays, spec, idx):
    """Find where in an array of this shape the element `idx` of the selection lies: NumPy's rules of indexing."""
    bshape = _broadcast(arrays)
    place, _ = _advanced_place(len(shape), spec)
    advanced = any(part is ARRAY for part in spec)
    consumed = sum(part is not None and part is not Ellipsis for part in spec)
    parts, ellipsis = [], False
    for part in spec:
        if part is Ellipsis:
            parts += [Slice((None, None, None))] * (len(shape) - consumed)
            ellipsis = True
        else:
            parts.append(part)
    if not ellipsis:
        parts += [Slice((None, None, None))] * (len(shape) - consumed)
    count = len(bshape) if advanced else 0
    pos = idx[place : place + count]
    rest = iter((*idx[:place], *idx[place + count :]))
    left, source, lengths = iter(arrays), [], iter(shape)
    for part in parts:
        if part is None:
            next(rest)
            continue
        n = next(lengths)
        if isinstance(part, Slice):
            start, stop, step = slice(*part).indices(n)
            i = next(rest)
            source.append(i * step + start)
        elif part is ARRAY:
            if not n:
                raise Unsupported("an index array into an axis without elements")
            v = next(left)
            source.append(body.position(v, aligned(pos, shape_of_atom(v)), n))
        else:
            source.append(Index(int(part) % n if n else 0))
    return tuple(ZERO if n == 1 else i for i, n in zip(source, shape, strict=True))


def shape_of_atom(v):
    return v.aval.shape if isinstance(v, Var) else shape_of(v)


def _broadcast(arrays):
    return np.broadcast_shapes(*[shape_of_atom(v) for v in arrays]) if arrays else ()


for f in (transpose, broadcast_to, index):
    lowering(operations[f.__name__], index_map=f)
for name in ("to_device", "checkpoint_name", "grad_hook"):
    lowering(operations[name], index_map=same)
lowering(operations["reshape"], index_map=reshape, alias=moves_elements)
