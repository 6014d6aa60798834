"""Collectives of lanes that send less between ranks than all lanes, with rules for the transformations around the map.

All of them take and give what the lanes of each rank have (varying), but for `rank_pick`, `rank_extreme` and `rank_product`,
whose results are one value (invariant). Their transposes:

    rank_scatter    the own rows of the sum over the ranks     gather, varying
    rank_exchange   row k of lane j becomes row j of lane k    itself
    rank_route      the value of the lane that a table names   the way back
    rank_before     the sum over the ranks before, or after    the sum over those after, or before
    rank_pick       the value of one lane                      kept in that lane
"""

import numpy as np

from ..dispatch import HostArray
from ..dsl import (
    add,
    astype,
    cumprod,
    divide,
    equal,
    moveaxis,
    multiply,
    opaque,
    where,
)
from ..dsl.avals import Aval, dtype_of, shape_of
from ..dsl.ops.create import arange_like, ones_like, zeros_like
from ..dsl.ops.lane_collectives import before, way_back
from ..dsl.ops.reduce import sum as sum_of
from ..dsl.ops.shape import concatenate, reshape
from .agreement import unified
from .buffers import sum_dtype
from .collectives import agreeing, gather, split, total, vary

BACKWARDS = "a derivative"


def _move(op, x, blocks, place, lanes=True, **params):
    return agreeing(op, blocks, *unified(blocks, place, x, lanes=lanes), **params)


def scatter(x, blocks, place=BACKWARDS):
    """The rows of this rank's lanes of the sum over the ranks of x, which has a row for each lane."""
    return _move(rank_scatter, x, blocks, place, lanes=False)


def exchange(x, blocks, place=BACKWARDS):
    """Row j of what lane k gets is row k of what lane j has given."""
    return _move(rank_exchange, x, blocks, place)


def route(x, blocks, place=BACKWARDS, *, sources):
    """The values of the lanes that `sources` names for those here, no lane twice; zeros for -1."""
    return _move(rank_route, x, blocks, place, sources=sources)


def pick(x, blocks, place=BACKWARDS, *, root):
    """The value of lane number root: invariant."""
    return _move(rank_pick, x, blocks, place, root=root)


def scan(x, blocks, place=BACKWARDS, *, exclusive, reverse):
    """Sums of the lanes up to each of those here."""
    return add(before(x, exclusive, reverse), _before(sum_of(x, axis=0), blocks, reverse, place))


def extreme(x, blocks, place=BACKWARDS, *, largest):
    """The largest or smallest value over the lanes: invariant."""
    return _move(rank_extreme, x, blocks, place, largest=largest)


def lane_product(x, blocks, place=BACKWARDS):
    """The product over the lanes: invariant."""
    return _move(rank_product, x, blocks, place)


# ---------------------------------------------------------------------- the cards
@opaque(kernel=None, numpy=(), collective=True)
def rank_scatter(x, /, *, blocks):
    """The own rows of the sum over the ranks of x."""


rank_scatter.rule("shape")(lambda x, *, blocks: Aval((blocks.local, *x.shape[1:]), sum_dtype(x.dtype)))
rank_scatter.rule("jvp")(lambda dxs, y, x, *, blocks: scatter(dxs[0], blocks))
rank_scatter.rule("vjp")([lambda ct, y, x, *, blocks: vary(gather(ct, blocks), blocks)])


@opaque(kernel=None, numpy=(), collective=True)
def rank_exchange(x, /, *, blocks):
    """Row j of lane k is row k of lane j."""


rank_exchange.rule("shape")(lambda x, *, blocks: x)
rank_exchange.rule("jvp")(lambda dxs, y, x, *, blocks: exchange(dxs[0], blocks))
rank_exchange.rule("vjp")([lambda ct, y, x, *, blocks: exchange(ct, blocks)])


@opaque(kernel=None, numpy=(), collective=True)
def rank_route(x, /, *, blocks, sources):
    """The value of the lane that sources names."""


rank_route.rule("shape")(lambda x, *, blocks, sources: x)
rank_route.rule("jvp")(lambda dxs, y, x, *, blocks, sources: route(dxs[0], blocks, sources=sources))
rank_route.rule("vjp")([lambda ct, y, x, *, blocks, sources: route(ct, blocks, sources=way_back(sources))])


@opaque(kernel=None, numpy=(), collective=True)
def rank_before(x, /, *, blocks, reverse):
    """The sum over the ranks before this one, or after it if reverse."""


rank_before.rule("shape")(lambda x, *, blocks, reverse: Aval(x.shape, sum_dtype(x.dtype)))
rank_before.rule("jvp")(lambda dxs, y, x, *, blocks, reverse: _before(dxs[0], blocks, reverse))
rank_before.rule("vjp")([lambda ct, y, x, *, blocks, reverse: _before(ct, blocks, not reverse)])


def _before(x, blocks, reverse, place=BACKWARDS):
    return _move(rank_before, x, blocks, place, lanes=False, reverse=reverse)


@opaque(kernel=None, numpy=(), collective=True)
def rank_pick(x, /, *, blocks, root):
    """The value of lane number root."""


rank_pick.rule("shape")(lambda x, *, blocks, root: Aval(x.shape[1:], x.dtype))
rank_pick.rule("jvp")(lambda dxs, y, x, *, blocks, root: pick(dxs[0], blocks, root=root))


@rank_pick.rule("vjp")
def rank_pick_vjp(i, ct, y, x, *, blocks, root):
    number = reshape(blocks.start + arange_like(x, blocks.local), shape=(blocks.local, *(1,) * (len(shape_of(x)) - 1)))
    ct = vary(ct, blocks)
    return where(equal(number, root), ct, zeros_like(ct))


@opaque(kernel=None, numpy=(), collective=True)
def rank_extreme(x, /, *, blocks, largest):
    """The largest or smallest value over the lanes."""


rank_extreme.rule("shape")(lambda x, *, blocks, largest: Aval(x.shape[1:], x.dtype))


def _shares(x, y, blocks):
    """(1 in the lanes that hold the extreme value, their number)."""
    holds = astype(equal(x, y), dtype=dtype_of(y))
    return holds, total(sum_of(holds, axis=0), blocks)


@rank_extreme.rule("jvp")
def rank_extreme_jvp(dxs, y, x, *, blocks, largest):
    holds, count = _shares(x, y, blocks)
    return divide(total(sum_of(multiply(holds, dxs[0]), axis=0), blocks), count)


@rank_extreme.rule("vjp")
def rank_extreme_vjp(i, ct, y, x, *, blocks, largest):
    holds, count = _shares(x, y, blocks)
    return multiply(holds, vary(divide(ct, count), blocks))


@opaque(kernel=None, numpy=(), collective=True)
def rank_product(x, /, *, blocks):
    """The product over the lanes."""


rank_product.rule("shape")(lambda x, *, blocks: Aval(x.shape[1:], sum_dtype(x.dtype)))


def _without_own(x, blocks):
    """For each lane here the product of all others."""
    rows = gather(x, blocks)
    one = ones_like(rows[:1])
    ahead = cumprod(concatenate([one, rows[:-1]], axis=0), axis=0)
    behind = cumprod(concatenate([one, rows[:0:-1]], axis=0), axis=0)[::-1]
    return split(multiply(ahead, behind), blocks)


@rank_product.rule("jvp")
def rank_product_jvp(dxs, y, x, *, blocks):
    return total(sum_of(multiply(dxs[0], _without_own(x, blocks)), axis=0), blocks)


@rank_product.rule("vjp")
def rank_product_vjp(i, ct, y, x, *, blocks):
    return multiply(vary(ct, blocks), _without_own(x, blocks))


# lanes around the map: axis 0 is theirs, the rows lie along axis 1
for op in (rank_scatter, rank_exchange, rank_route):
    op.rule("batch")(lambda size, xs, batched, op=op, **params: moveaxis(op(moveaxis(xs[0], 0, -1), **params), -1, 0))
for op in (rank_pick, rank_extreme, rank_product):
    op.rule("batch")(lambda size, xs, batched, op=op, **params: op(moveaxis(xs[0], 0, 1), **params))
rank_before.rule("batch")(lambda size, xs, batched, **params: rank_before(xs[0], **params))


# ---------------------------------------------------------------------- on arrays of the host
def scattered(x, blocks):
    """The own rows of the sum."""
    return blocks.comm.reduce_scatterv(x, blocks.lengths, label=blocks.name, agreed=blocks.agreed)


def exchanged(x, blocks):
    """The rows of this rank's lanes, from all ranks."""
    ends = np.cumsum(blocks.lengths)
    parts = {r: np.moveaxis(x[:, end - n : end], 1, 0) for r, (n, end) in enumerate(zip(blocks.lengths, ends, strict=True))}
    shapes = {r: (blocks.local, int(n), *x.shape[2:]) for r, n in enumerate(blocks.lengths)}
    given = blocks.comm.swap(parts, shapes, x.dtype, label=blocks.name, agreed=blocks.agreed)
    return np.concatenate([given[r] for r in range(len(given))], axis=1)


def routed_rows(x, blocks, sources):
    """The rows that sources names for the lanes here: one message from each rank that has some of them."""
    y, places, here = np.zeros_like(x), {}, range(blocks.start, blocks.start + blocks.kept)
    for lane, source in enumerate(sources):
        if source >= 0 and (lane in here or source in here):
            places.setdefault((blocks.rank_of(source), blocks.rank_of(lane)), []).append((source, lane))
    rank = blocks.rank
    parts = {to: x[[s - blocks.start for s, _ in pairs]] for (at, to), pairs in places.items() if at == rank}
    wanted = {at: pairs for (at, to), pairs in places.items() if to == rank}
    shapes = {at: (len(pairs), *x.shape[1:]) for at, pairs in wanted.items()}
    given = blocks.comm.swap(parts, shapes, x.dtype, label=blocks.name, agreed=blocks.agreed)
    for at, pairs in wanted.items():
        y[[lane - blocks.start for _, lane in pairs]] = given[at]
    return y


def picked(x, blocks, root):
    """The root's row, from its rank."""
    owner = blocks.rank_of(root)
    row = x[root - blocks.start] if owner == blocks.rank else np.zeros(x.shape[1:], x.dtype)
    return blocks.comm.bcast(row, owner, label=blocks.name)[()]


def ranks_before(x, blocks, reverse):
    """The sum over the ranks on one side."""
    rows = blocks.comm.allgather(x, label=blocks.name)
    return np.sum(rows[blocks.rank + 1 :] if reverse else rows[: blocks.rank], axis=0)


def extreme_value(x, blocks, largest):
    """The largest or smallest of all rows."""
    own = x.max(axis=0) if largest else x.min(axis=0)
    return blocks.comm.allreduce(own, "max" if largest else "min", label=blocks.name, agreed=blocks.agreed)[()]


def product_of_rows(x, blocks):
    """The product of all rows."""
    return blocks.comm.allreduce(x.prod(axis=0), "prod", label=blocks.name, agreed=blocks.agreed)[()]


KERNELS = {
    rank_scatter: scattered, rank_exchange: exchanged, rank_route: routed_rows, rank_pick: picked, rank_before: ranks_before,
    rank_extreme: extreme_value, rank_product: product_of_rows,
}  # fmt: skip
for op, kernel in KERNELS.items():
    op.generic.add(kernel, (HostArray,))
