"""Collectives of arrays as they lie on a device: by NCCL, or by an MPI library that reads the memory of devices.

Which of them is found out by all ranks together, at the first such array that a communicator meets. Both are run by the guard
as any other collective: the ranks agree first on what they are about to do, the way included, and wait for a limited time.
"""

import operator
import weakref

import numpy as np

from ..buffers import reduction
from ..signature import Signature
from .self_test import reads_devices

_routes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # of each communicator: its routes, by library and device


def route(comm, carriage):
    """The way on which arrays of this carriage go among the ranks of a communicator, or None for that through the host."""
    known = _routes.setdefault(comm, {})
    if carriage not in known:
        known[carriage] = _way_of_all(comm, carriage)
    return known[carriage]


def _way_of_all(comm, carriage):
    told = comm.gather_objects((carriage.fast is not None, carriage.place()), label="how arrays of devices travel")
    if all([fast for fast, _ in told]) and len({place for _, place in told}) == comm.size:  # NCCL wants a device for each
        rank = comm._link.rank
        identity = comm.gather_objects(carriage.fast_identity() if rank == 0 else None, label="NCCL")[0]
        return OverNccl(comm._link, carriage, carriage.fast_communicator(comm.size, rank, identity))
    aware = comm.allreduce(np.array(reads_devices(carriage)), "min", label="how arrays of devices travel")
    return OverMPI(comm._link, carriage) if aware else None


class OverMPI:
    """An MPI library that reads devices: it is handed arrays once nothing is left to be written to them."""

    name = "MPI"

    def __init__(self, link, carriage):
        self.link, self.carriage = link, carriage

    def reduces(self, dtype):
        return True

    def all_reduce(self, sent, received, mpi):
        self.carriage.ready()
        self.link.reduce_into(sent, received, mpi)

    def all_gather(self, sent, received):
        received[self.link.rank] = sent
        self.carriage.ready()
        self.link.gather(received)

    def broadcast(self, x, root):
        self.carriage.ready()
        self.link.broadcast(x, root)


class OverNccl:
    """NCCL, on the stream of the arrays."""

    name = "NCCL"

    def __init__(self, link, carriage, communicator):
        self.link, self.carriage, self.communicator, self.reduces = link, carriage, communicator, communicator.reduces

    def all_reduce(self, sent, received, mpi):
        self.link.wait(self.communicator.all_reduce(sent, received, mpi))

    def all_gather(self, sent, received):
        self.link.wait(self.communicator.all_gather(sent, received))

    def broadcast(self, x, root):
        self.link.wait(self.communicator.broadcast(x, root))


# ---------------------------------------------------------------------- the collectives
def _signature(operation, way, x, **options):
    return Signature(f"{operation} over {way.name}", x.shape, np.dtype(x.dtype), **options)


def _bytes(way, x):
    """The bytes of a copy of an array, in a row: what is only moved needs no dtype that the library has."""
    sent = way.carriage.empty(x.shape, x.dtype)
    sent[...] = x
    return sent.reshape(-1).view(np.uint8)


def allreduce(comm, way, x, op="sum", *, label="", agreed=False):
    """As that of Communicator; NotImplemented for what the library reduces otherwise than NumPy."""
    how = reduction(op, np.dtype(x.dtype), "allreduce")
    if not (how.direct and way.reduces(x.dtype)) or not x.size:
        return NotImplemented
    received = way.carriage.empty(x.shape, x.dtype)
    signature = _signature("allreduce", way, x, reduction=op, label=label, agreed=agreed)
    comm._link.run(signature, way.all_reduce, way.carriage.in_a_row(x), received, how.mpi)
    return received


def allgather(comm, way, x, *, label=""):
    """As that of Communicator."""
    if not x.size:
        return NotImplemented
    sent = _bytes(way, x)
    received = way.carriage.empty((comm.size, sent.size), np.uint8)
    comm._link.run(_signature("allgather", way, x, label=label), way.all_gather, sent, received)
    return received.reshape(-1).view(x.dtype).reshape((comm.size, *x.shape))


def bcast(comm, way, x, root=0, *, label=""):
    """As that of Communicator."""
    root = operator.index(root)
    if not x.size or not 0 <= root < comm.size:
        return NotImplemented
    sent = _bytes(way, x)
    comm._link.run(_signature("bcast", way, x, root=root, label=label), way.broadcast, sent, root)
    return sent.view(x.dtype).reshape(x.shape)


DIRECT = {"allreduce": allreduce, "allgather": allgather, "bcast": bcast}
