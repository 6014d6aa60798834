"""How validated buffers travel: over MPI, or nowhere when there is one rank. Both have the same methods.

The collectives above are written once; everything that differs with and without MPI is here.
"""

import contextlib
import math

import numpy as np

from .errors import CollectiveMismatch
from .group import Group, Word
from .pairs import require_pairs
from .pieces import as_table, columns, exceeds, parts_of_blocks, pieces
from .signature import listed
from .wire import LocalWire, MPIWire


class OneProcess:
    """The stand-in for one rank: every message is from this rank to itself."""

    rank, size, checked, strict = 0, 1, False, False
    name, ranks, on_node = "", range(1), (0,)

    def __init__(self, library):
        self.library = library

    def split(self, color, key, name):
        """The link among the ranks that give this color, in the order of their keys; None for one that gives None."""
        return None if color is None else self

    def wire(self):
        """Return how messages from one rank to another travel."""
        return LocalWire()

    def run(self, signature, move, *args):
        return move(*args)

    def compare(self, signature, mark, told):
        """Return whether all ranks give an equal mark."""
        return True

    def map_under_way(self, name):
        """Around a map over the ranks."""
        return contextlib.nullcontext()

    def reduce(self, a, mpi):
        """In place: `a` becomes the reduction of all ranks' `a`."""

    def reduce_into(self, sent, received, mpi):
        """`received` becomes the reduction of all ranks' `sent`."""
        received[...] = sent

    def begin_reduce(self, a, mpi):
        """As `reduce`; the requests."""
        return []

    def wait(self, *requests):
        """Wait for these requests."""

    def gather(self, table):
        """In place: `table[r]` becomes rank r's `table[r]`."""

    def gather_blocks(self, block, lengths=None):
        """All ranks' blocks joined along axis 0; lengths: of the blocks, if they are known."""
        return block.copy()

    def broadcast(self, a, root):
        """In place: `a` becomes the root's `a`."""

    def transpose(self, sent, received):
        """`received[r]` becomes rank r's `sent[own rank]`."""
        received[...] = sent

    def reduce_scatter(self, sent, received):
        """`received` becomes the sum over the ranks of `sent[own rank]`."""
        received[...] = sent[0]

    def reduce_scatter_blocks(self, sent, received, counts):
        """`received` becomes the own block of the sum over the ranks of `sent`; counts: elements of each block."""
        received[...] = sent

    def swap(self, sent, received):
        """received[r] becomes what rank r has sent here, where sent[r] goes to it."""
        for rank, x in received.items():
            x[...] = sent[rank]

    def exchange(self, sent, received, source, dest):
        """Send to `dest`, receive from `source`; None: no message."""
        if source != dest:
            raise CollectiveMismatch(f"exchange: source {source} and dest {dest} of the only rank are not paired")
        if source is not None:
            received[...] = sent

    def barrier(self):
        """Nobody to wait for."""

    def gather_bytes(self, payload):
        """List of every rank's bytes."""
        return [payload]

    def distinct(self, payload, key, most):
        """List of Words: the different bytes that the ranks say."""
        return [Word(payload, 0, 1)]

    def broadcast_bytes(self, payload, root):
        """The root's bytes."""
        return payload


class MPILink:
    """Messages over an MPI communicator of its own, each within the guard's deadline. group: its ranks."""

    def __init__(self, MPI, comm, group, library):
        self.rank, self.size, self.library = comm.Get_rank(), comm.Get_size(), library
        guard = group.guard
        self._MPI, self._comm, self._group, self._guard = MPI, comm, group, guard
        self.name, self.ranks, self.on_node = group.name, group.ranks, guard.board.ranks
        self.wait = self._wait = guard.wait
        self.checked, self.strict = guard.check, guard.strict
        self.run, self.compare, self.gather_bytes = group.run, group.compare, group.gather_bytes
        self.distinct, self.broadcast_bytes = group.distinct, group.broadcast_bytes
        self.map_under_way = guard.owners.map_under_way
        self.require_outside_of_maps = guard.owners.require_outside_of_maps
        self._splits = []  # pairs: what this rank has said in a split, and the link that it got

    def wire(self):
        return MPIWire(self._MPI, self._comm, self._group, self._guard)

    def split(self, color, key, name):
        """The link among the ranks that give this color, in the order of their keys; None for one that gives None.

        An MPI library has some two thousand communicators, and freeing one is a collective, which no finaliser can make: a
        split that all ranks have made before gives what it gave then, and ranks that were put together before are not so again.
        """
        asked = color, key, name
        before = np.packbits([asked == earlier for earlier, _ in self._splits] or [False])
        self._wait(self._comm.Iallreduce(self._MPI.IN_PLACE, before, op=self._MPI.BAND))
        if before.any():
            return self._splits[np.flatnonzero(np.unpackbits(before))[0]][1]
        comm = self._comm.Split(self._MPI.UNDEFINED if color is None else color, key)  # blocks, but all ranks have come
        link = None if comm == self._MPI.COMM_NULL else self._part(comm, name)
        self._splits.append((asked, link))
        return link

    def _part(self, comm, name):
        """The link over a new communicator, or the one that its ranks have had before."""
        everyone = self._guard.everyone.control.Get_group()
        ranks = tuple(comm.Get_group().Translate_ranks(None, everyone))
        name = name or f"the part {listed(ranks)}"
        links = self._guard.links
        if (ranks, name) in links:
            comm.Free()  # all its ranks know it
        else:
            group = Group(self._guard, self._MPI, comm.Dup(), ranks, name)
            self._guard.groups.append(group)
            links[ranks, name] = MPILink(self._MPI, comm, group, self.library)
        return links[ranks, name]

    def reduce(self, a, mpi):
        for (piece,) in pieces(a):
            self._wait(self._comm.Iallreduce(self._MPI.IN_PLACE, piece, op=getattr(self._MPI, mpi)))

    def begin_reduce(self, a, mpi):
        return [self._comm.Iallreduce(self._MPI.IN_PLACE, piece, op=getattr(self._MPI, mpi)) for (piece,) in pieces(a)]

    def reduce_into(self, sent, received, mpi):
        for piece, result in pieces(sent, received):
            self._wait(self._comm.Iallreduce(piece, result, op=getattr(self._MPI, mpi)))

    def gather(self, table):
        if not exceeds(table):
            self._wait(self._comm.Iallgather(self._MPI.IN_PLACE, table))
            return
        rows = as_table(table)
        for part in columns(self.size, rows.shape[1], rows.itemsize):
            mine, joined = rows[self.rank, part].copy(), rows[:, part].copy()
            self._wait(self._comm.Iallgather(mine, joined))
            rows[:, part] = joined

    def gather_blocks(self, block, lengths=None):
        if lengths is None:
            lengths = self._group.gather_numbers(len(block))[:, 0]
        joined = np.empty((int(lengths.sum()), *block.shape[1:]), block.dtype)
        if exceeds(joined):
            for part, counts, put in parts_of_blocks(block, lengths * math.prod(block.shape[1:])):
                parts = np.empty(int(counts.sum()), block.dtype)
                self._wait(self._comm.Iallgatherv(part, [parts, counts.astype(np.intc)]))
                put(joined.reshape(-1), parts)
        elif lengths[0] == lengths[-1] and (lengths == lengths[0]).all():
            self._wait(self._comm.Iallgather(block, joined))
        else:
            counts = lengths * math.prod(block.shape[1:])
            self._wait(self._comm.Iallgatherv(block, [joined, counts.astype(np.intc)]))
        return joined

    def broadcast(self, a, root):
        for (piece,) in pieces(a):
            self._wait(self._comm.Ibcast(piece, root=root))

    def transpose(self, sent, received):
        if not exceeds(sent):
            self._wait(self._comm.Ialltoall(sent, received))
            return
        rows, into = as_table(sent), as_table(received)
        for part in columns(self.size, rows.shape[1], rows.itemsize):
            piece = rows[:, part].copy()
            result = np.empty_like(piece)
            self._wait(self._comm.Ialltoall(piece, result))
            into[:, part] = result

    def reduce_scatter(self, sent, received):
        if not exceeds(sent):
            self._wait(self._comm.Ireduce_scatter_block(sent, received, op=self._MPI.SUM))
            return
        rows, into = as_table(sent), received.reshape(-1)
        for part in columns(self.size, rows.shape[1], rows.itemsize):
            self._wait(self._comm.Ireduce_scatter_block(rows[:, part].copy(), into[part], op=self._MPI.SUM))

    def reduce_scatter_blocks(self, sent, received, counts):
        if exceeds(sent):  # all of it, in pieces: what a piece holds of each block differs
            whole = np.empty_like(sent)
            self.reduce_into(sent, whole, "SUM")
            start = int(counts[: self.rank].sum())
            received.reshape(-1)[...] = whole.reshape(-1)[start : start + received.size]
            return
        self._wait(self._comm.Ireduce_scatter(sent, received, counts.astype(np.intc), op=self._MPI.SUM))

    def swap(self, sent, received):
        here = self.rank
        each = lambda arrays: [(rank, piece) for rank, x in arrays.items() if rank != here for (piece,) in pieces(x)]
        requests = [self._comm.Irecv(x, source=rank, tag=0) for rank, x in each(received)]
        requests += [self._comm.Isend(x, dest=rank) for rank, x in each(sent)]
        if here in received:
            received[here][...] = sent[here]
        self._wait(*requests)

    def exchange(self, sent, received, source, dest):
        if self._guard.check:  # an unpaired message would be taken for the next exchange's
            require_pairs(self._group, source, dest)
        null = self._MPI.PROC_NULL
        for piece, result in pieces(sent, received):
            self._wait(
                self._comm.Irecv(result, source=null if source is None else source, tag=0),
                self._comm.Isend(piece, dest=null if dest is None else dest),
            )

    def barrier(self):
        self._wait(self._comm.Ibarrier())
