"""`Chunks`: how the elements along one axis of a sharded array lie on the ranks of a communicator."""

import numpy as np

from ..collectives import Blocks


class Chunks(Blocks):
    """Contiguous chunks of any lengths, one on each rank of a communicator; they may be empty. What is told of `Blocks` holds.

    lengths: that of each rank, in their order. name: what moves them, for messages. Equal where they lie alike.
    """

    def __init__(self, comm, lengths, name):
        self.comm, self.given, self.name = comm, lengths, name
        self.rank, self.size = comm.rank, sum(lengths)
        self.start, self.kept = self.block(self.rank)
        self.local = self.kept

    def __eq__(self, other):
        return type(other) is Chunks and (other.comm, other.given, other.name) == (self.comm, self.given, self.name)

    def __hash__(self):
        return hash((id(self.comm), self.given, self.name))

    def block(self, rank):
        return sum(self.given[:rank]), self.given[rank]

    @property
    def lengths(self):
        return np.array(self.given)

    def rank_of(self, lane):
        return int(np.searchsorted(np.cumsum(self.given), lane, side="right"))

    def __repr__(self):
        return f"<chunks {list(self.given)}>"


def one_each(comm, name):
    """Chunks of one element on each rank: what is summed or compared over them."""
    return Chunks(comm, (1,) * comm.size, name)


def balanced(size, count):
    """Lengths of chunks that differ by at most one, the longer ones first."""
    each, longer = divmod(size, count)
    return (each + 1,) * longer + (each,) * (count - longer)


def starts(lengths):
    """Return where each chunk begins."""
    return tuple(np.cumsum([0, *lengths[:-1]]).tolist())
