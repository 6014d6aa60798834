"""The operations between ranks that sharded arrays need besides those of maps (`parallel/collectives.py`, `moves.py`), on the
blocks of one array along any of its axes, with rules for the transformations around."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...dispatch import HostArray
from ...dsl import moveaxis, opaque, where
from ...dsl.avals import Aval
from ...dsl.ops.create import zeros_like
from ..collectives import agreeing, rank_gather, rank_split, rank_sum, vary
from ..moves import rank_extreme, rank_product, rank_scatter
from .chunks import starts


class Cut(NamedTuple):
    """An axis and its Chunks."""

    axis: int
    chunks: object


def own_chunk(x, cut):
    """The own chunk of what every rank has: split."""
    return _first(cut.axis, partial(rank_split, blocks=cut.chunks, filled=False), x)


def gathered(x, cut):
    """All chunks, on every rank."""
    return _first(cut.axis, partial(rank_gather, blocks=cut.chunks), x)


def scattered(x, cut):
    """The own chunk of the sum over the ranks."""
    return _first(cut.axis, partial(rank_scatter, blocks=cut.chunks), x)


def summed(x, chunks):
    """The sum over the ranks, on every rank."""
    return rank_sum(x, blocks=chunks)


def kept_once(x, chunks):
    """Make what every rank has addends of a sum: on the first of them, and zeros on the others."""
    varying = vary(x, chunks)
    return where(chunks.rank == 0, varying, zeros_like(varying))  # on every rank followed by the same transformations


def extreme_of_ranks(x, chunks, largest):
    """The largest or smallest over the ranks, element by element."""
    return rank_extreme(x[None], blocks=chunks, largest=largest)


def product_of_ranks(x, chunks):
    """The product over the ranks, element by element."""
    return rank_product(x[None], blocks=chunks)


def _first(axis, move, x):
    return moveaxis(move(moveaxis(x, axis, 0)), 0, axis) if axis else move(x)


@opaque(kernel=None, numpy=(), collective=True)
def rank_resplit(x, /, *, source, target):
    """The own chunk along one axis of what lies in chunks along another, or in others along the same."""


@rank_resplit.rule("shape")
def rank_resplit_shape(x, *, source, target):
    shape = list(x.shape)
    shape[source.axis] = source.chunks.size
    shape[target.axis] = target.chunks.kept
    return Aval(tuple(shape), x.dtype)


def resplit(x, source, target):
    """`rank_resplit`, of cotangents: the ranks have the same transformations around."""
    return agreeing(lambda x, blocks: rank_resplit(x, source=source, target=target), source.chunks, x, False)


rank_resplit.rule("jvp")(lambda dxs, y, x, *, source, target: resplit(dxs[0], source, target))
rank_resplit.rule("vjp")([lambda ct, y, x, *, source, target: resplit(ct, target, source)])


@rank_resplit.rule("batch")
def rank_resplit_batch(size, xs, batched, *, source, target):
    return rank_resplit(xs[0], source=source._replace(axis=source.axis + 1), target=target._replace(axis=target.axis + 1))


def resplit_on_host(x, source, target):
    """Each rank sends each other what both have to do with: one message between any two of them."""
    here, comm, same = source.chunks, source.chunks.comm, source.axis == target.axis
    given, wanted = [[*zip(starts(cut.chunks.given), cut.chunks.given, strict=True)] for cut in (source, target)]
    shape = list(x.shape)
    shape[source.axis] = here.size
    shape[target.axis] = target.chunks.kept
    result = np.empty(shape, x.dtype)
    parts, shapes, places = {}, {}, {}
    for other in range(comm.size):
        sent = x[_shared(target.axis, given[here.rank], wanted[other], same)]
        place = _shared(source.axis, wanted[here.rank], given[other], same)
        if other == here.rank:
            result[place] = sent
            continue
        if sent.size:
            parts[other] = sent
        if result[place].size:
            shapes[other], places[other] = result[place].shape, place
    for other, part in comm.swap(parts, shapes, x.dtype, label=here.name, agreed=here.agreed).items():
        result[places[other]] = part
    return result


def _shared(axis, own, theirs, same):
    """The index, within an array of which this rank has the chunk `own` (start, length), of what `theirs` has of it too; all of
    `theirs` where this rank has the whole axis."""
    (start, length), (first, other) = own, theirs
    if not same:
        return (*[slice(None)] * axis, slice(first, first + other))
    low, high = max(start, first), min(start + length, first + other)
    return (*[slice(None)] * axis, slice(low - start, max(high, low) - start))


rank_resplit.generic.add(resplit_on_host, (HostArray,))
