"""How the bytes of a message travel: over MPI, or through a queue where there is one rank. Both have the same methods."""

from collections import deque

import numpy as np

from .errors import CollectiveError
from .pieces import pieces


class LocalWire:
    """Messages of the only rank to itself. deadline: seconds to wait for one, which nobody else could send."""

    deadline, rank = 0.0, 0

    def __init__(self):
        self._queues = {}

    def require(self, what):
        """Raise CollectiveError if this thread must not speak to other ranks now."""

    def post(self, data, to, tag, synchronous):
        """Send bytes, an array of uint8 that stays as it is; requests, complete when they were taken if `synchronous`."""
        letter = _Letter(data)
        self._queues.setdefault(tag, deque()).append(letter)
        return [letter]

    def probe(self, source, tag):
        """The next message as (bytes, requests after which they are there), or None."""
        queue = self._queues.get(tag)
        if not queue:
            return None
        letter = queue.popleft()
        letter.taken = True
        return letter.data, []

    def take(self, length, source, tag):
        """The next message, of a length that is known: as `probe`."""
        return self.probe(source, tag)

    def told(self, rank):
        """Say what a rank did last."""
        return "  it is this rank itself, which has not sent it"

    def waiting(self, text):
        """Let the other ranks read what this one waits for."""
        return lambda: None

    def give_up(self, why):
        """No further collective may be made."""

    def at_end(self, check):
        """Call check(all_ended) at the end of the program, before and after all ranks have come to theirs."""


class _Letter:
    def __init__(self, data):
        self.data, self.taken = data, False

    def Test(self):
        return self.taken


class MPIWire:
    """Messages over the MPI communicator of a link."""

    def __init__(self, MPI, comm, group, guard):
        self._MPI, self._comm, self._group, self._guard = MPI, comm, group, guard
        self.rank = comm.Get_rank()

    @property
    def deadline(self):
        return self._guard.deadline

    def require(self, what):
        self._guard.owners.require(what)
        if self._guard.unusable:
            raise CollectiveError(f"{what} cannot be run, the ranks are no longer in step: {self._guard.unusable}")

    def post(self, data, to, tag, synchronous):
        send = self._comm.Issend if synchronous else self._comm.Isend
        return [send(piece, dest=to, tag=tag) for (piece,) in pieces(data)]

    def probe(self, source, tag):
        status = self._MPI.Status()
        message = self._comm.Improbe(source=source, tag=tag, status=status)
        if message is None:
            return None
        data = np.empty(status.Get_count(self._MPI.BYTE), np.uint8)
        return data, [message.Irecv(data)]

    def take(self, length, source, tag):
        data = np.empty(length, np.uint8)
        return data, [self._comm.Irecv(piece, source=source, tag=tag) for (piece,) in pieces(data)]

    def told(self, rank):
        return self._guard.states([self._group.ranks[rank]])

    def waiting(self, text):
        return self._guard.board.waiting(text)

    def give_up(self, why):
        self._guard.unusable = why

    def at_end(self, check):
        self._guard.ends.append(check)
