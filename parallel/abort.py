"""A rank that raises, or leaves early, ends the whole job with its traceback and a non-zero exit status.

Plain MPI leaves the other ranks waiting for ever, and some launchers then report success.
"""

import atexit
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import Any

from . import board as boards
from . import early_abort
from .errors import CollectiveError, CollectiveTimeout
from .rank_process import is_tagged
from .signature import call_site

GRACE = 0.3  # seconds between a report and the end of the job: lets the other ranks report and output drain
STAGGER = 0.05  # the same error on several ranks: lower ranks print first, the others then need one line
NO_TRACEBACK_STAGGER = 0.15  # a rank at its end has no traceback: ranks that have one print first
_NO_USABLE_STREAM = suppress(AttributeError, OSError, ValueError)  # None or closed: the exit status still tells


class AbortHooks:
    """Replaces sys.excepthook, threading.excepthook and sys.exit and registers an atexit function; `comm` ends the job.

    The hooks found are called after ours when they are not Python's own, and in a forked child they alone are used.
    `guard` is set once it exists; until then errors can already end the job.
    """

    def __init__(self, comm):
        self.guard: Any = None
        self._comm, self._pid = comm, os.getpid()
        self._head = "" if is_tagged() else f"[rank {comm.Get_rank()}/{comm.Get_size()}] "
        early_abort.uninstall()
        self._previous, sys.excepthook = sys.excepthook, self._uncaught
        self._previous_in_thread, threading.excepthook = threading.excepthook, self._uncaught_in_thread
        self._exit, sys.exit = sys.exit, self._noted_exit
        atexit.register(self._at_exit)

    def _uncaught(self, kind, error, trace):
        if os.getpid() != self._pid:
            return self._previous(kind, error, trace)
        self._report(kind, error, trace)
        self._end_job()

    def _uncaught_in_thread(self, args):
        # Python goes on when a thread dies of an ordinary error, so do we; after a failed collective it cannot.
        if os.getpid() == self._pid and args.exc_type and issubclass(args.exc_type, CollectiveError):
            self._uncaught(args.exc_type, args.exc_value, args.exc_traceback)
        else:
            self._previous_in_thread(args)

    def _noted_exit(self, status=None, /):
        """`sys.exit`, of which the other ranks are told: nothing else shows why a program ends early."""
        if self.guard is not None and os.getpid() == self._pid:
            text = "" if status is None else repr(status)
            self.guard.ending = f" by sys.exit({text[:60]}) at {call_site()}"
        self._exit(status)

    def _at_exit(self):
        if os.getpid() != self._pid or self.guard is None:
            return
        try:
            self.guard.finish()
        except CollectiveError as error:
            self._report(type(error), error, None)
            self._end_job()

    def watch_the_end(self):
        """End the job, if there is a POLYAD_END_DEADLINE, when threads of this rank outlast the main one for longer, as
        Python waits for them before it calls `_at_exit`."""
        if self.guard.end_deadline < float("inf"):
            threading.Thread(target=self._outlast, name="polyad: the end", daemon=True).start()

    def _outlast(self):
        threading.main_thread().join()
        time.sleep(self.guard.end_deadline)
        left = [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
        if left and os.getpid() == self._pid:
            error = CollectiveTimeout(
                f"the program has ended, but not its thread {', '.join(map(repr, left))} within {self.guard.end_deadline:g} s; "
                "make it a daemon, or tell it to end; if it was only slow, raise POLYAD_END_DEADLINE (seconds)"
            )
            self._report(CollectiveTimeout, error, None)
            self._end_job()

    def _report(self, kind, error, trace):
        """One write with the full traceback, or one line where another rank has printed the same error."""
        headline = "".join(traceback.format_exception_only(kind, error)).splitlines()[0]
        if self._printed_elsewhere(headline, STAGGER if trace else NO_TRACEBACK_STAGGER):
            _write_stderr(f"{self._head}{headline} (the full message is another rank's)\n")
        elif trace is None:
            _write_stderr(self._head + "".join(traceback.format_exception_only(kind, error)))
        elif self._previous is sys.__excepthook__:
            _write_stderr(self._head + "".join(traceback.format_exception(kind, error, trace)))
        else:
            _write_stderr(f"{self._head}{headline}\n")
            self._previous(kind, error, trace)

    def _printed_elsewhere(self, headline, patience):
        if self.guard is None:
            return False
        board, text = self.guard.board, headline.encode()
        board.post(boards.RAISED, text)
        if board.rank != board.ranks[0] or patience == NO_TRACEBACK_STAGGER:
            time.sleep(patience)
        for rank in board.ranks:
            state, *_, other = board.read(rank)
            if (
                rank != board.rank
                and text.startswith(other.encode())
                and other
                and (state == boards.REPORTED or state == boards.RAISED and rank < board.rank)
            ):
                return True
        board.post_state(boards.REPORTED)
        return False

    def _end_job(self):
        with _NO_USABLE_STREAM:
            sys.stdout.flush()
        time.sleep(GRACE)
        self._comm.Abort(1)


def _write_stderr(text):
    with _NO_USABLE_STREAM:
        sys.stderr.write(text)
        sys.stderr.flush()
