"""The guard of every collective: agree on what is called before data moves, and never wait for ever.

MPI itself checks nothing across ranks: a sum met by a maximum, or float64 by int64, gives numbers and exit status 0.
"""

import os
import sys
import threading
import zlib
from typing import NamedTuple

import numpy as np

from ..dispatch.callers import caller
from . import board as boards
from .errors import CollectiveError, CollectiveMismatch, CollectiveTimeout
from .ownership import Owners
from .waiting import wait

_CACHED_SIGNATURES = 4096


class Signature(NamedTuple):
    """The facts that all ranks must have in common before a collective moves data."""

    operation: str
    shape: tuple = ()
    dtype: np.dtype | None = None
    reduction: str = ""
    root: int = -1
    label: str = ""
    place: str = ""  # where it is called, compared under POLYAD_COLLECTIVE_CHECK=strict

    def __str__(self):
        words = self.operation + (f"({self.reduction})" if self.reduction else "")
        if self.dtype is not None:
            shape = str(self.shape).replace("-1", "*")
            words += f" of {self.dtype.name} with shape {shape}"
        words += f" from root {self.root}" if self.root >= 0 else ""
        return words + (f" [{self.label}]" if self.label else "") + _at_site(self.place)


END = Signature("end of the program")


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
    """Runs collectives one at a time: signature exchange, data, deadline. `control` carries the guard's own messages.

    Made by all ranks together; `check`, `deadline` and `end_deadline` (seconds) come from POLYAD_COLLECTIVE_CHECK,
    POLYAD_DEADLINE and POLYAD_END_DEADLINE and must be the same on all ranks. `owners`: which thread may make collectives
    now (ownership.py).
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
        self.control = control
        self.number = 0
        self._minimum = MPI.MIN
        self._sent, self._received = np.zeros(4, np.int64), np.zeros(4, np.int64)
        self._known = {}
        self._lock, self._busy = threading.RLock(), False
        self._told, self.ending = "", ""  # what a comparison is about; how the program has come to its end, if that is known
        self._limit, self._now, self._pending = self.deadline, END, ()
        settings = zlib.crc32(repr((check, self.deadline, self.end_deadline)).encode())
        control.Allreduce(np.array([settings, -settings, 0, 0]), self._received, op=self._minimum)
        if self._received[0] != -self._received[1]:
            raise CollectiveMismatch(
                "POLYAD_COLLECTIVE_CHECK, POLYAD_DEADLINE or POLYAD_END_DEADLINE differ between the "
                "ranks; set them alike on every node"
            )

    # --- one collective -------------------------------------------------------------------------------------------

    def run(self, signature, move, *args):
        """`move(*args)` once all ranks have come with an equal `signature`; its result.

        Errors: CollectiveMismatch (all ranks alike; they may go on), CollectiveTimeout and any error of `move`
        (this process can then make no further collective); CollectiveError in a forked child, or in another thread than
        that of a map under way.
        """
        return self._run(signature, None, move, args)

    def compare(self, signature, mark, told):
        """Return whether all ranks have come with an equal `mark`, an integer of 62 bits, sent in the message that compares the
        signatures; told: what is compared, for messages. Errors as for `run`."""
        self._told = told
        return self._run(signature, mark, lambda: self._received[2] == -self._received[3], ())

    def _run(self, signature, mark, move, args):
        self.owners.require(signature)
        with self._lock:
            if self.strict and not signature.label:
                signature = signature._replace(place=call_site())
            self._enter(signature)
            try:
                if self.check or mark is not None:
                    self._agree(signature, mark or 0)
                return move(*args)
            except CollectiveMismatch:
                raise
            except BaseException as error:
                self.unusable = f"{signature} was given up ({type(error).__name__})"
                raise
            finally:
                self._busy = False
                self.board.post_state(boards.LEFT)

    def finish(self):
        """Say that this rank's program is over, and wait for the others, `end_deadline` long: they may still compute.

        Errors: CollectiveMismatch when another rank is in a collective instead; CollectiveTimeout when one does not end;
        CollectiveError when a collective was given up before, even if the program has caught that: the job must not look
        like a success.
        """
        if not self._lock.acquire(timeout=self.deadline):
            raise CollectiveError(f"the program ended while another thread was still in {self._now}")
        try:
            if self.unusable:
                raise CollectiveError(f"the job has failed: {self.unusable}")
            self._enter(END)
            self.board.post(boards.FINISHED, self.number, self.ending.encode())
            self._limit = self.end_deadline
            self._agree(END)
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
                raise CollectiveTimeout(self._absence())

    def _enter(self, signature):
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
        self._busy, self._now = True, signature
        self.number += 1
        self.board.post(boards.INSIDE, self.number, self._known_form(signature)[1])

    def _known_form(self, signature):
        known = self._known.get(signature)
        if known is None:
            if len(self._known) >= _CACHED_SIGNATURES:
                self._known.clear()
            known = self._known[signature] = (zlib.crc32(repr(signature).encode()), str(signature).encode())
        return known

    def _agree(self, signature, mark=0):
        """The smallest and the largest hash over the ranks, and so for `mark`, in one 32-byte message; hashes that are
        unequal: tell all to all."""
        own = zlib.crc32(self.number.to_bytes(8, "little"), self._known_form(signature)[0])
        sent, received = self._sent, self._received
        sent[:] = own, -own, mark, -mark
        request = self.control.Iallreduce(sent, received, op=self._minimum)
        patience = min(self.deadline, self.end_deadline) if signature is END else 0
        if patience and not wait(request, patience):
            self._say_who_is_awaited()
        self.wait(request, after=patience)
        if received[0] != -received[1]:
            self._limit = self.deadline
            raise CollectiveMismatch(self._difference(signature))

    # --- what the errors say --------------------------------------------------------------------------------------

    def _difference(self, signature):
        told = f": {self._told}" if signature.operation == "comparison" and self._told else self.ending * (signature is END)
        shown = f"{signature}{told}" if signature is END or signature.place else f"{signature}{told}{_at_site(call_site())}"
        calls = self.gather_bytes(shown.encode())
        lines = [f"  rank {rank}: {call.decode()}" for rank, call in enumerate(calls)]
        return (
            f"the ranks do not agree on collective {self.number}:\n"
            + "\n".join(lines)
            + "\nEvery rank must make the same calls in the same order, with equal shapes and dtypes: look for a "
            "branch, a loop count or a shape that depends on the rank"
        )

    def _absence(self):
        head = f"{self._now}, collective {self.number}"
        rows = {rank: self.board.read(rank) for rank in range(self.size) if rank != self.rank}
        absent = [rank for rank, row in rows.items() if row and (row[2] < self.number or row[0] == boards.FINISHED)]
        unknown = [rank for rank, row in rows.items() if row is None]
        if absent:
            head += f": {_ranks(absent)} did not arrive within {self._limit:g} s"
        elif unknown:
            head += f": not complete within {self._limit:g} s; absent may be {_ranks(unknown)}"
        else:
            head += f": all ranks came, but the data did not arrive within {self._limit:g} s"
        return (
            head
            + "\n"
            + self._states(absent or unknown or list(rows))
            + f"\nIf that rank was only slow, raise POLYAD_{'END_' * (self._now is END)}DEADLINE (seconds); else "
            "look where it stopped"
        )

    def _say_who_is_awaited(self):
        others = [rank for rank in range(self.size) if not (row := self.board.read(rank)) or row[0] != boards.FINISHED]
        limit = self.end_deadline
        patience = (
            f"the job is ended {limit:g} s after this program"
            if limit < float("inf")
            else "there is no limit to that: set POLYAD_END_DEADLINE (seconds) for one"
        )
        sys.stderr.write(
            f"[rank {self.rank}/{self.size}] has finished and waits for {_ranks(others)}:\n"
            + self._states(others)
            + f"\n{patience}\n"
        )
        sys.stderr.flush()

    def _states(self, ranks):
        return "\n".join(f"  rank {rank} {self.board.describe(rank)}" for rank in ranks[:64])

    # --- control data ---------------------------------------------------------------------------------------------

    def gather_numbers(self, *numbers):
        """int64 array of shape (size, len(numbers)): each rank's numbers, inside a running collective."""
        table = np.empty((self.size, len(numbers)), np.int64)
        self.wait(self.control.Iallgather(np.array(numbers, np.int64), table))
        return table

    def gather_bytes(self, payload):
        """List of every rank's bytes, in the order of the ranks, inside a running collective."""
        lengths = self.gather_numbers(len(payload))[:, 0]
        joined = np.empty(int(lengths.sum()), np.uint8)
        self.wait(self.control.Iallgatherv(np.frombuffer(payload, np.uint8), [joined, lengths.tolist()]))
        ends = np.cumsum(lengths)
        return [joined[end - length : end].tobytes() for end, length in zip(ends, lengths)]


def _ranks(ranks):
    """'rank 1' or 'ranks 1, 2, 5', cut after a dozen."""
    shown = ", ".join(map(str, ranks[:12])) + (f" and {len(ranks) - 12} more" if len(ranks) > 12 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"


def call_site():
    """'file:line' of the innermost frame outside this package: what a user can look at; '' if there is none."""
    place = caller()
    return "" if place is None else f"{os.path.basename(place[0])}:{place[1]}"


def _at_site(site):
    return f" at {site}" if site else ""
