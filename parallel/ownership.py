"""Who may make collectives: this process, not a forked child of it, and while a map is under way its thread alone.

Two threads that each run a map would take each other's places in the order of the collectives, which the ranks know nothing
of; a forked child would talk over its parent's connection. Threads that make no collectives of ours are nobody's concern
(that of `mpi4py.futures` speaks over a communicator of its own).
"""

import contextlib
import os
import threading

from .errors import CollectiveError, RankError


class Owners:
    """rank: of this process. owner: the thread whose map is under way, None if there is none; name: of that map."""

    def __init__(self, rank):
        self.rank, self.pid = rank, os.getpid()
        self.owner, self.name = None, ""
        self._lock = threading.Lock()

    def require(self, what):
        """Raise CollectiveError if this process or thread must not make the collective `what`."""
        if os.getpid() != self.pid:
            raise CollectiveError(
                f"{what} was called in a forked child, process {os.getpid()}, of rank {self.rank}: the connection to the other "
                "ranks is its parent's; make collectives in the parent, or start the child as a program of its own "
                '(subprocess, or multiprocessing with the method "spawn"), which is one process'
            )
        owner = self.owner
        if owner is not None and owner is not threading.current_thread():
            raise CollectiveError(
                f"{what} was called in the thread {threading.current_thread().name!r} while {self.name} is under way in "
                f"{owner.name!r}: their collectives would be mixed between the ranks; make them all in one thread"
            )

    def require_outside_of_maps(self, what):
        """Raise RankError if this thread's map is under way."""
        if self.owner is threading.current_thread():
            raise RankError(
                f"{what} was read inside {self.name}: a lane must not depend on the rank on which it runs, or the result is "
                "another one on another number of ranks; axis_index of the map's axis_name numbers the lanes, and what is to "
                "happen on one rank alone is done outside of the map. POLYAD_COLLECTIVE_CHECK=1 leaves this check out"
            )

    @contextlib.contextmanager
    def map_under_way(self, name):
        """Around a map over the ranks."""
        with self._lock:
            self.require(name)
            before, self.owner, self.name = (self.owner, self.name), threading.current_thread(), name
        try:
            yield
        finally:
            self.owner, self.name = before
