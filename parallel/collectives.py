"""The operations between ranks under `pmap`, with rules for the transformations around the map.

A value is *invariant* (the same on every rank: everything outside of the map) or *varying* (each rank has its own:
everything inside). Five operations lead from one to the other, and they are each other's transposes:

    split   invariant -> varying   this rank's block of the lanes     transpose: gather
    gather  varying -> invariant   all blocks, joined                 transpose: split
    vary    invariant -> varying   the same value                     transpose: total
    total   varying -> invariant   the sum over the ranks             transpose: vary
    first   varying -> invariant   a value equal on all ranks         transpose: vary, kept on rank 0

So no derivative counts a rank twice or leaves one out, in any order. Blocks may be of unequal length. A rank without
lanes runs the map on lane 0 all the same, so that it takes part in every collective with the right shapes; what it
computes is cut off (`Blocks.own`) on every way out, backwards too.
"""

import functools
import math
from typing import Any

import numpy as np

from ..dispatch import HostArray, Layer, isa
from ..dsl import moveaxis, opaque
from ..dsl.avals import Aval, is_number
from ..dsl.ops.create import zeros_like
from .agreement import unified
from .buffers import sum_dtype
from .dependence import joined, united

TOGETHER = 1 << 20  # bytes of all lanes of an array up to which it goes with others: larger ones cost more to copy


class Blocks:
    """The distribution of `size` lanes over the ranks of a communicator: contiguous blocks, the first ones longer by one if
    need be.

    rank: of this process. start, kept: its block. local: lanes that run here, which is one where kept is 0 and there are lanes
    at all. name: of the map, for messages. axis: the `RankAxis` while its map is under way, else None. agreed: the ranks have
    compared the form of what is sent next. Blocks of two calls of a map are equal where they lie alike, so that a step that is
    recorded once more is known to be the same.
    """

    axis: Any = None
    agreed = False

    def __init__(self, comm, size, name):
        self.comm, self.size, self.name = comm, size, name
        self.rank = comm.rank
        self.start, self.kept = self.block(self.rank)
        self.local = max(self.kept, min(size, 1))

    def __eq__(self, other):
        return type(other) is Blocks and (other.comm, other.size, other.name) == (self.comm, self.size, self.name)

    def __hash__(self):
        return hash((id(self.comm), self.size, self.name))

    def block(self, rank):
        """First lane and number of lanes of a rank."""
        each, longer = divmod(self.size, self.comm.size)
        return rank * each + min(rank, longer), each + (rank < longer)

    @property
    def lengths(self):
        """The number of lanes of each rank."""
        return _lengths(self.size, self.comm.size)

    def rank_of(self, lane):
        """The rank on which a lane lies."""
        each, longer = divmod(self.size, self.comm.size)
        first = longer * (each + 1)  # lanes on the ranks with one more
        return lane // (each + 1) if lane < first else longer + (lane - first) // each

    def lanes(self, rank):
        """The lanes of a rank as text."""
        start, kept = self.block(rank)
        return f"lanes {start} to {start + kept - 1}" if kept > 1 else f"lane {start}" if kept else "no lane"

    def own(self, lanes):
        """Of values of the lanes that run here (axis 0), those that count here."""
        return lanes if self.kept == self.local else lanes[: self.kept]

    def take(self, x, filled):
        """This rank's block of x along axis 0; filled: lane 0 for a rank that has none."""
        return x[: self.local] if filled and not self.kept else x[self.start : self.start + self.kept]

    def __repr__(self):
        return f"<{self.size} lanes on {self.comm.size} ranks>"


@functools.lru_cache(16)  # the same at each call of a map
def _lengths(size, ranks):
    each, longer = divmod(size, ranks)
    lengths = np.full(ranks, each)
    lengths[:longer] += 1
    lengths.flags.writeable = False
    return lengths


# ---------------------------------------------------------------------- what the maps and the rules call
def split(x, blocks, filled=True):
    """This rank's block of an invariant x along axis 0; `filled`: lane 0 for a rank that has none."""
    return rank_split(x, blocks=blocks, filled=filled)


def gather(x, blocks, place="a derivative"):
    """The blocks of all ranks joined along axis 0: invariant.

    x: this rank's block, empty for a rank without lanes. place: what it is for, in messages.
    """
    return agreeing(rank_gather, blocks, *unified(blocks, place, x, lanes=True))


def gather_agreed(xs, blocks):
    """As `gather`, of values of whose forms the ranks have agreed (`described`): small arrays of one dtype in one message."""
    together = {}
    for i, x in enumerate(xs):
        if isa(x, np.ndarray) and _row(x) * blocks.size * x.itemsize <= TOGETHER:
            together.setdefault(x.dtype, []).append(i)
    done = {}
    for places in [places for places in together.values() if len(places) > 1]:
        rows = np.concatenate([xs[i].reshape(blocks.kept, _row(xs[i])) for i in places], axis=1)
        joined = agreeing(rank_gather, blocks, rows, True)
        ends = np.cumsum([_row(xs[i]) for i in places])
        for i, part in zip(places, np.split(joined, ends[:-1], axis=1), strict=True):
            done[i] = part.copy().reshape(blocks.size, *xs[i].shape[1:])
    return [done[i] if i in done else agreeing(rank_gather, blocks, x, True) for i, x in enumerate(xs)]


def _row(x):
    """The number of elements of a lane."""
    return math.prod(x.shape[1:])


def total(x, blocks, place="a derivative"):
    """The sum of x over the ranks: invariant; small integers and booleans are summed as NumPy's sum does."""
    x, agreed = unified(blocks, place, x)
    y = agreeing(rank_sum, blocks, x, agreed)
    return y.item() if is_number(x) else y


def vary(x, blocks):
    """An invariant x on its way into the lanes of this rank."""
    return rank_vary(x, blocks=blocks) if isinstance(x, Layer) else x


def first(x, blocks):
    """A varying x that is known to be equal on all ranks, as an invariant."""
    return rank_first(x, blocks=blocks) if isinstance(x, Layer) else x


def agreeing(op, blocks, x, agreed, **params):
    """The operation, which compares nothing if the ranks have `agreed` on the form of x: then all send the same."""
    before, blocks.agreed = blocks.agreed, agreed
    try:
        return op(x, blocks=blocks, **params)
    finally:
        blocks.agreed = before


# ---------------------------------------------------------------------- the cards
@opaque(kernel=None, numpy=(), collective=True)
def rank_split(x, /, *, blocks, filled):
    """This rank's block of x along axis 0."""


@rank_split.rule("shape")
def rank_split_shape(x, *, blocks, filled):
    return Aval((blocks.local if filled else blocks.kept, *x.shape[1:]), x.dtype)


rank_split.rule("jvp")(lambda dxs, y, x, *, blocks, filled: rank_split(dxs[0], blocks=blocks, filled=filled))


@rank_split.rule("vjp")
def rank_split_vjp(i, ct, y, x, *, blocks, filled):
    return gather(blocks.own(ct) if filled else ct, blocks)


@opaque(kernel=None, numpy=(), collective=True)
def rank_gather(x, /, *, blocks):
    """The blocks of all ranks along axis 0."""


rank_gather.rule("shape")(lambda x, *, blocks: Aval((blocks.size, *x.shape[1:]), x.dtype))
rank_gather.rule("jvp")(lambda dxs, y, x, *, blocks: gather(dxs[0], blocks))
rank_gather.rule("vjp")([lambda ct, y, x, *, blocks: split(ct, blocks, filled=False)])


@opaque(kernel=None, numpy=(), collective=True)
def rank_sum(x, /, *, blocks):
    """The sum over the ranks."""


rank_sum.rule("shape")(lambda x, *, blocks: Aval(x.shape, sum_dtype(x.dtype)))
rank_sum.rule("jvp")(lambda dxs, y, x, *, blocks: total(dxs[0], blocks))
rank_sum.rule("vjp")([lambda ct, y, x, *, blocks: vary(ct, blocks)])


@opaque(kernel=None, numpy=(), collective=True)
def rank_vary(x, /, *, blocks):
    """x, of which each rank has a copy of its own from here on."""


rank_vary.rule("shape")(lambda x, *, blocks: x)
rank_vary.rule("jvp")(lambda dxs, y, x, *, blocks: vary(dxs[0], blocks))


@rank_vary.rule("vjp")
def rank_vary_vjp(i, ct, y, x, *, blocks):
    return total(ct if blocks.kept == blocks.local else zeros_like(ct), blocks)


@opaque(kernel=None, numpy=(), collective=True)
def rank_first(x, /, *, blocks):
    """x, which is equal on all ranks, as one value."""


rank_first.rule("shape")(lambda x, *, blocks: x)
rank_first.rule("jvp")(lambda dxs, y, x, *, blocks: first(dxs[0], blocks))


@rank_first.rule("vjp")
def rank_first_vjp(i, ct, y, x, *, blocks):
    varying = vary(ct, blocks)  # on every rank: its transpose communicates
    return varying if blocks.rank == 0 else zeros_like(varying)


# which inputs the elements depend on
rank_split.rule("depends")(lambda x, *, blocks, filled: blocks.take(x, filled))
rank_gather.rule("depends")(lambda x, *, blocks: joined(x, blocks))
rank_sum.rule("depends")(lambda x, *, blocks: united(x, blocks))
rank_vary.rule("depends")(lambda x, *, blocks: x)
rank_first.rule("depends")(lambda x, *, blocks: x)

# lanes around the map: axis 0 is theirs, the blocks lie along axis 1
for along in (rank_split, rank_gather):
    along.rule("batch")(lambda size, xs, batched, op=along, **params: moveaxis(op(moveaxis(xs[0], 1, 0), **params), 0, 1))
for whole in (rank_sum, rank_vary, rank_first):
    whole.rule("batch")(lambda size, xs, batched, op=whole, **params: op(xs[0], **params))


# ---------------------------------------------------------------------- on arrays of the host
def _kernel(op, function):
    op.generic.add(function, (HostArray,))


_kernel(rank_split, lambda x, blocks, filled: blocks.take(x, filled))
_kernel(
    rank_gather,
    lambda x, blocks: blocks.comm.allgatherv(x, label=blocks.name, lengths=blocks.lengths, agreed=blocks.agreed),
)
_kernel(rank_sum, lambda x, blocks: blocks.comm.allreduce(x, label=blocks.name, agreed=blocks.agreed)[()])
_kernel(rank_vary, lambda x, blocks: x)
_kernel(rank_first, lambda x, blocks: x)
