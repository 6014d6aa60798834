"""A rank among many that all do what it does, without MPI: the software of one rank alone, and a count of its messages.

It stands in for mpi4py below `MPILink` and the guard, which are the real ones. Every message is answered at once, as if the
others had the same values: a minimum is one's own, a sum that many times it, a gathered table the own block over and over.
"""

from types import SimpleNamespace

import numpy as np

from polyad.parallel.board import Board
from polyad.parallel.communicator import Communicator
from polyad.parallel.guard import Guard
from polyad.parallel.transport import MPILink


class Request:
    """A message that has arrived."""

    def Test(self):
        return True


class Comm:
    """What mpi4py's communicator offers, for one of `size` ranks. messages: (operation, bytes) of each so far."""

    arrived = Request()

    def __init__(self, MPI, rank, size, messages):
        self.MPI, self.rank, self.size, self.messages = MPI, rank, size, messages

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Dup(self):
        return Comm(self.MPI, self.rank, self.size, self.messages)

    def Split_type(self, kind):
        return Comm(self.MPI, 0, 1, [])

    def Barrier(self):
        pass

    def Iallreduce(self, sent, received, op):
        if sent is not self.MPI.IN_PLACE:
            received[...] = sent
        if op == "SUM":
            received *= self.size
        self.messages.append(("allreduce", received.nbytes))
        return self.arrived

    def Allreduce(self, sent, received, op):
        self.Iallreduce(sent, received, op)
        self.messages.pop()

    def Iallgather(self, sent, received):
        received.reshape(self.size, -1)[...] = 0
        if sent is not self.MPI.IN_PLACE:
            received.reshape(self.size, -1)[self.rank] = np.ravel(sent)
        self.messages.append(("allgather", received.nbytes))
        return self.arrived

    def Iallgatherv(self, sent, received):
        joined, counts = received
        assert len(counts) == self.size and np.asarray(counts).sum() == joined.size
        joined[...] = 0
        self.messages.append(("allgatherv", joined.nbytes))
        return self.arrived

    def Ibcast(self, data, root):
        self.messages.append(("bcast", data.nbytes))
        return self.arrived

    def Ibarrier(self):
        self.messages.append(("barrier", 0))
        return self.arrived


class NoWindow(Exception):
    """No rank can read what another has written."""


def many_ranks(size, rank=0):
    """(Communicator, list of its messages) of one of so many ranks."""

    def refuse(*args, **kwargs):
        raise NoWindow

    MPI = SimpleNamespace(MIN="MIN", MAX="MAX", SUM="SUM", BAND="BAND", IN_PLACE=object(), Exception=NoWindow,
                          COMM_TYPE_SHARED=0, Win=SimpleNamespace(Allocate_shared=refuse))  # fmt: skip
    messages = []
    comm = Comm(MPI, rank, size, messages)
    guard = Guard(MPI, comm.Dup(), Board(MPI, comm))
    return Communicator(MPILink(MPI, comm.Dup(), guard.everyone, f"{size} simulated ranks")), messages
