"""The guard of every collective: agree on what is called before data moves, and never wait for ever.

MPI itself checks nothing across ranks: a sum met by a maximum, or float64 by int64, gives numbers and exit status 0.
"""

import os
import sys
import threading
import zlib
from typing import Any

import numpy as np

from . import board as boards
from .errors import CollectiveError, CollectiveMismatch
from .group import Group
from .ownership import Owners
from .signature import END, call_site, listed
from .waiting import wait


def checking():
    """POLYAD_COLLECTIVE_CHECK as 0 (nothing is compared), 1 or 2 ("strict"); ValueError for another value."""
    text = os.environ.get("POLYAD_COLLECTIVE_CHECK", "").strip() or "1"
    if text not in ("0", "1", "strict"):
        raise ValueError(f"POLYAD_COLLECTIVE_CHECK={text!r} is not 0, 1 or strict")
    return 2 if text == "strict" else int(text)


def setting(name, default, kind):
    """The environment variable `name` as a number of `kind`; ValueError names it when it is none, or negative."""
    text = os.environ.get(name, "").strip() or default
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not value >= 0:
        raise ValueError(f"{name}={text!r} is no number of at least 0; unset it or use for example {name}={default}")
    return value


class Guard:
    """Runs the collectives of a process one at a time, in whichever group of ranks: signature exchange, data, deadline.

    control: the MPI communicator of all ranks, for the guard's own messages. Made by all ranks together; `check`, `deadline`
    and `end_deadline` (seconds) come from POLYAD_COLLECTIVE_CHECK, POLYAD_DEADLINE and POLYAD_END_DEADLINE and must be the
    same on all ranks. `everyone`: the group of all ranks; `groups`: all groups that this rank is in. `owners`: which thread
    may make collectives now (ownership.py).
    """

    def __init__(self, MPI, control, board):
        self.rank, self.size = control.Get_rank(), control.Get_size()
        self.board = board
        self.unusable = ""  # why no further collective can be run; the process must then not exit with 0
        check = checking()
        self.check, self.strict = check > 0, check > 1
        self.deadline = setting("POLYAD_DEADLINE", "60", float)
        self.end_deadline = setting("POLYAD_END_DEADLINE", "inf", float)
        self.owners = Owners(self.rank)
        self.recorder: Any = None  # a timeline that is being recorded
        self._lock, self._busy = threading.RLock(), False
        self.told, self.ending = "", ""  # what a comparison is about; how the program has come to its end, if that is known
        self._limit, self._now, self._pending = self.deadline, END, ()
        self.everyone = self._where = Group(self, MPI, control, range(self.size))
        self.ends: list = []  # each is called at the end, with False, and with True once all ranks have come to theirs
        self.groups, self.links = [self.everyone], {}  # links: of the parts, by their ranks and names
        settings, least = zlib.crc32(repr((check, self.deadline, self.end_deadline)).encode()), np.zeros(2, np.int64)
        control.Allreduce(np.array([settings, -settings]), least, op=MPI.MIN)
        if least[0] != -least[1]:
            raise CollectiveMismatch(
                "POLYAD_COLLECTIVE_CHECK, POLYAD_DEADLINE or POLYAD_END_DEADLINE differ between the "
                "ranks; set them alike on every node"
            )

    # --- one collective -------------------------------------------------------------------------------------------

    def run(self, group, signature, move, *args):
        """`move(*args)` once all ranks of the group have come with an equal `signature`; its result.

        Errors: CollectiveMismatch (all ranks alike; they may go on), CollectiveTimeout and any error of `move`
        (this process can then make no further collective); CollectiveError in a forked child, or in another thread than
        that of a map under way.
        """
        return self._run(group, signature, None, move, args)

    def compare(self, group, signature, mark, told):
        """Return whether all ranks of the group have come with an equal `mark`, an integer of 62 bits, sent in the message that
        compares the signatures; told: what is compared, for messages. Errors as for `run`."""
        self.told = told
        return self._run(group, signature, mark, lambda: group.equal_marks, ())

    def _run(self, group, signature, mark, move, args):
        self.owners.require(signature)
        with self._lock:
            if self.strict and not signature.label:
                signature = signature._replace(place=call_site())
            entered = self.recorder and self.recorder.now()
            self._begin(group, signature)
            try:
                group.enter(signature)
                if self.check and not signature.agreed or mark is not None:
                    group.agree(signature, mark or 0)
                return self.recorder.moved(signature, entered, move, args) if self.recorder else move(*args)
            except CollectiveMismatch:
                raise
            except BaseException as error:
                self.unusable = f"{signature} was given up ({type(error).__name__})"
                raise
            finally:
                self._busy = False
                self.board.post_state(boards.LEFT)

    def finish(self):
        """Say that this rank's program is over, in each of its groups, and wait for the others, `end_deadline` long: they may
        still compute.

        Errors: CollectiveMismatch when another rank is in a collective instead; CollectiveTimeout when one does not end;
        CollectiveError when a collective was given up before, even if the program has caught that: the job must not look
        like a success.
        """
        if not self._lock.acquire(timeout=self.deadline):
            raise CollectiveError(f"the program ended while another thread was still in {self._now}")
        try:
            if self.unusable:
                raise CollectiveError(f"the job has failed: {self.unusable}")
            for check in self.ends:
                check(False)
            self._begin(self.everyone, END)
            for group in self.groups:
                group.enter(END)
            self.board.post(boards.FINISHED, self.ending.encode())
            end, patience = _End(self.groups), min(self.deadline, self.end_deadline)
            if not wait(end, patience):
                self._say_who_is_awaited()
            self._limit = self.end_deadline
            self.wait(end, after=patience)
            self._limit = self.deadline
            for self._where in end.unequal:
                self._where.require_equal(END)
            for check in self.ends:
                check(True)
            self.unusable = "the program has ended"
        finally:
            self._busy = False
            self._lock.release()

    def wait(self, *requests, after: float = 0):
        """Wait for the requests of the collective that runs now; CollectiveTimeout at the deadline. after: seconds that were
        waited already."""
        self._pending = requests  # a request that is given up still owns its buffers: MPI may write to them later
        for request in requests:
            if not wait(request, self._limit - after):
                raise self._where.absence(self._now, self._limit)

    def _begin(self, group, signature):
        if self._busy:
            raise CollectiveError(
                f"{signature} was called while this thread is still in {self._now}: a finaliser or "
                "a signal handler must not make collectives"
            )
        if self.unusable:
            raise CollectiveError(
                f"{signature} cannot be run, the ranks are no longer in step: {self.unusable}; "
                "end this program and start it anew"
            )
        self._busy, self._now, self._where = True, signature, group

    def _say_who_is_awaited(self):
        others = [rank for rank in range(self.size) if not (row := self.board.read(rank)) or row.state != boards.FINISHED]
        limit = self.end_deadline
        patience = (
            f"the job is ended {limit:g} s after this program"
            if limit < float("inf")
            else "there is no limit to that: set POLYAD_END_DEADLINE (seconds) for one"
        )
        sys.stderr.write(
            f"[rank {self.rank}/{self.size}] has finished and waits for {listed(others)}:\n"
            + self.states(others)
            + f"\n{patience}\n"
        )
        sys.stderr.flush()

    def states(self, ranks):
        """Say what these ranks last did, a line for each."""
        return "\n".join(f"  rank {rank} {self.board.describe(rank)}" for rank in ranks[:64])


class _End:
    """The request of the last message of all groups: complete once each has arrived, or one says that a rank goes on.

    Ranks end in no order: a rank that has ended tells all of its groups, so none waits for it in a collective of one of them.
    """

    def __init__(self, groups):
        self.pending = [(group, group.begin(END)) for group in groups]
        self.unequal = []

    def Test(self):
        """Return whether nothing is left to wait for."""
        for pair in [*self.pending]:
            group, request = pair
            if request.Test():
                self.pending.remove(pair)
                self.unequal += [] if group.equal else [group]
        return not self.pending or bool(self.unequal)
