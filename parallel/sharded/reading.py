"""Reading and writing sharded arrays by index: each rank what lies in its chunks."""

import numpy as np

from ...dispatch import Array, isa
from ...dsl import index, index_add, index_set, join_index, moveaxis, pad, where, zeros_like
from ...dsl.avals import shape_of
from ..moves import rank_pick
from .array import Sharded, made, moved_to
from .layout import Layout
from .partition_spec import PartitionSpec
from .reductions import whole_of

WHAT = "index of Sharded arrays"


@index.method
def index_sharded(x: Sharded, /, *arrays: Array, spec):
    arrays = tuple([whole_of(a, "index") if isinstance(a, Sharded) else a for a in arrays])
    parts = expanded(x, join_index(spec, arrays))
    if parts is None:
        return NotImplemented
    x, parts = without_integers(x, parts)
    if not any([is_array(part) for part in parts]):
        return sliced(x, parts)
    return read_by_arrays(x, parts)


def expanded(x, parts):
    """The index with a part for each axis of x, None for new axes; None where there are too many parts."""
    count = len([part for part in parts if part is not None and part is not Ellipsis])
    if count > x.ndim or len([part for part in parts if part is Ellipsis]) > 1:
        return None
    missing = [slice(None)] * (x.ndim - count)
    if any([part is Ellipsis for part in parts]):
        at = next(k for k, part in enumerate(parts) if part is Ellipsis)
        return [*parts[:at], *missing, *parts[at + 1 :]]
    return [*parts, *missing]


def is_array(part):
    return part is not None and not isa(part, (slice, int, np.integer))


def without_integers(x, parts):
    """x at the places that are integers, and the rest of the index; where there are arrays too, integers stay beside them."""
    if any([is_array(part) for part in parts]):
        axis = 0
        for part in parts:
            if isa(part, (int, np.integer)):
                x = moved_to(x, x.layout.cut(axis, ()), WHAT) if x.layout.parts[axis] else x
            axis += part is not None
        return x, parts
    kept, axis = [], 0
    for part in parts:
        if isa(part, (int, np.integer)):
            x = at_place(x, axis, int(part))
            continue
        kept.append(part)
        axis += part is not None
    return x, kept


def at_place(x, axis, place):
    """x at one place of an axis: from the rank that has it."""
    n = x.shape[axis]
    if not -n <= place < n:
        raise IndexError(
            f"index: index {place} is out of bounds for axis {axis} with size {n} (indexing {x.dtype}{list(x.shape)})"
        )
    place %= n
    if not x.layout.parts[axis]:
        return made(x.block[(*[slice(None)] * axis, place)], x.layout.without(axis))
    x = moved_to(x, x.layout.reduced(()), WHAT)
    chunks = x.layout.along_axis(axis, WHAT)
    whole = x.layout.cut(axis, ()).without(axis)
    if chunks.comm.size == 1:
        return made(x.block[(*[slice(None)] * axis, place)], whole)
    return made(rank_pick(moveaxis(x.block, axis, 0), blocks=chunks, root=place), whole)


def sliced(x, parts):
    """x by slices and new axes."""
    local, layout, x = local_slices(x, parts)
    return made(x.block[tuple(local)], layout)


def local_slices(x, parts):
    """The index of this rank's block for slices and new axes, the layout of the result, and x, whose axes that are read
    backwards are not cut."""
    axis = 0
    for part in parts:
        if isinstance(part, slice):
            if x.layout.parts[axis] and (part.step or 1) < 0:
                x = moved_to(x, x.layout.cut(axis, ()), WHAT)
            axis += 1
    local, shape, cuts, chunks, axis = [], [], [], [], 0
    for part in parts:
        if part is None:
            local.append(None)
            cuts.append(())
            shape.append(1)
            chunks.append((1,))
            continue
        n, cut, lengths = x.shape[axis], x.layout.parts[axis], x.chunks[axis]
        first, stop, step = part.indices(n)
        count = len(range(first, stop, step))
        if cut:
            places = [
                chunk_slice(first, stop, step, a, m)
                for a, m in zip(np.cumsum([0, *lengths[:-1]]).tolist(), lengths, strict=True)
            ]
            low, high = places[x.layout.along(cut).rank]
            local.append(slice(low, high, step))
            chunks.append(tuple([len(range(a, b, step)) for a, b in places]))
        else:
            local.append(part)
            chunks.append((count,))
        cuts.append(cut)
        shape.append(count)
        axis += 1
    return local, Layout(x.mesh, shape, PartitionSpec(*cuts, partial=x.layout.partial), chunks), x


def chunk_slice(first, stop, step, start, length):
    """(first, stop) of a slice with a positive step within the chunk at `start`, counted from there."""
    low = first if first >= start else first + -(-(start - first) // step) * step
    high = min(stop, start + length)
    return (low - start, high - start) if low < high else (0, 0)


# ---------------------------------------------------------------------- arrays of places
def read_by_arrays(x, parts):
    """x at places that every rank knows: along an axis that is cut each rank reads those that it has, as addends of a sum."""
    axes = [k for k, part in enumerate([p for p in parts if p is not None]) if is_array(part)]
    cut = [k for k in axes if x.layout.parts[k]]
    if cut and (len(axes) > 1 or x.dtype.kind not in "fc" or not only_slices(parts)):
        for k in cut:
            x = moved_to(x, x.layout.cut(k, ()), WHAT)
        cut = []
    if cut:
        return read_own(x, axes[0], parts[axes[0]])
    axis = 0
    for part in parts:  # slices of axes that are cut first, then nothing but arrays is left for the block
        axis += part is not None
    plain = [part if isinstance(part, slice) else slice(None) for part in parts if part is not None]
    x = sliced(x, plain)
    left = [part if part is None or not isinstance(part, slice) else slice(None) for part in parts]
    block = x.block[tuple(left)]
    letters = axes_after(
        left, x.ndim, len(np.broadcast_shapes(*[np.shape(p) for p in left if p is not None and not isinstance(p, slice)]))
    )
    cuts = [() if k is None else x.layout.parts[k] for k in letters]
    own = shape_of(block)
    shape = [own[i] if k is None else x.shape[k] for i, k in enumerate(letters)]
    chunks = [(own[i],) if k is None else x.chunks[k] for i, k in enumerate(letters)]
    return made(block, Layout(x.mesh, shape, PartitionSpec(*cuts, partial=x.layout.partial), chunks))


def only_slices(parts):
    return all([is_array(part) or isinstance(part, slice) and part == slice(None) for part in parts])


def axes_after(parts, ndim, count):
    """For each axis of x[parts] the axis of x that it is, None for new ones; parts: full slices, None, integers and arrays of
    `count` axes together. NumPy puts those of arrays where they stand, or first where a slice stands between them."""
    places = [k for k, part in enumerate(parts) if part is not None and not isinstance(part, slice)]
    together = places[-1] - places[0] + 1 == len(places)
    found, axis = [], 0
    for k, part in enumerate(parts):
        if together and k == places[0]:
            found += [None] * count
        if part is None:
            found.append(None)
        else:
            if isinstance(part, slice):
                found.append(axis)
            axis += 1
    return found if together else [None] * count + found


def read_own(x, axis, places):
    """x at places along an axis that is cut: this rank's, and zeros for those of others, which makes a partial sum."""
    n, shape = x.shape[axis], np.shape(places)
    places = np.asarray(places)
    if places.size and not (-n <= places.min() and places.max() < n):
        raise IndexError(f"index: positions lie outside of axis {axis} with size {n} (indexing {x.dtype}{list(x.shape)})")
    part, start, kept = x.layout.parts[axis], x.start[axis], shape_of(x.block)[axis]
    x = moved_to(x, x.layout.reduced(()), WHAT)
    here = places % max(n, 1) - start
    mine = (here >= 0) & (here < kept)
    lead = [slice(None)] * axis
    block = x.block
    if not kept:  # one of zeros, so that what follows is the same on every rank
        block = pad(block, [(0, int(k == axis)) for k in range(x.ndim)])
    block = block[(*lead, np.where(mine, here, 0))]
    mask = np.reshape(mine, (*shape, *[1] * (x.ndim - axis - 1)))
    block = where(mask, block, zeros_like(block))
    whole = x.layout.cut(axis, ()).without(axis)
    for k, m in enumerate(shape):
        whole = whole.stacked(axis + k, m)
    return made(block, whole.reduced((*whole.partial, *part)))


# ---------------------------------------------------------------------- writing
def written(op, x, v, arrays, spec):
    """x with v set or added at an index of slices, integers and new axes; each rank writes what lies in its chunks."""
    arrays = tuple([whole_of(a, "index") if isinstance(a, Sharded) else a for a in arrays])
    if not isinstance(x, Sharded):
        return NotImplemented
    parts = expanded(x, join_index(spec, arrays))
    if parts is None:
        return NotImplemented
    name = f"{op.__name__} of Sharded arrays"
    x = moved_to(x, x.layout.reduced(()), name)
    axis = 0
    for part in parts:  # an array of places needs the whole axis
        if is_array(part) and x.layout.parts[axis]:
            return NotImplemented
        axis += part is not None
    if any([is_array(part) for part in parts]):
        return NotImplemented
    ranges, squeezed, place, axis = [], [], 0, 0
    for part in parts:
        if part is None:
            place += 1
            continue
        n = x.shape[axis]
        if isa(part, (int, np.integer)):
            if not -n <= part < n:
                raise IndexError(f"{op.__name__}: index {part} is out of bounds for axis {axis} with size {n}")
            squeezed.append(len(ranges))
            part = slice(part % n, part % n + 1)
        ranges.append(part)
        axis += 1
    local, layout, y = local_slices(x, ranges)
    if y.layout != x.layout:
        return NotImplemented  # read backwards
    v = _as_block_of(v, parts, layout, x.mesh, name)
    return made(op(x.block, v, spec=_spec(local)), x.layout)


def _spec(local):
    from ...dsl.ops.indexing import hashable

    return tuple([hashable(part) for part in local])


def _as_block_of(v, parts, layout, mesh, name):
    """Return what is written, with one axis for each axis of the array, and of it this rank's part."""
    own = [k for k, part in enumerate(p for p in parts if p is not None) if not isa(part, (int, np.integer))]
    shape, order = [], iter(own)
    for part in parts:
        if part is None:
            shape.append(1)
        elif not isa(part, (int, np.integer)):
            shape.append(layout.shape[next(order)])
    from ...dsl import broadcast_to, reshape

    v = broadcast_to(v, shape=tuple(shape)) if tuple(shape_of(v)) != tuple(shape) else v
    v = reshape(v, shape=layout.shape)
    x = v if isinstance(v, Sharded) else made(v, Layout(mesh, layout.shape))
    return moved_to(x, layout, name).block


@index_set.method
def index_set_sharded(x: Sharded, v: Array, /, *arrays: Array, spec):
    return written(index_set, x, v, arrays, spec)


@index_add.method
def index_add_sharded(x: Sharded, v: Array, /, *arrays: Array, spec):
    return written(index_add, x, v, arrays, spec)
