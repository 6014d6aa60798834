"""One thread at a time where a transformation that has ended goes on once more, since it has one record
(checkpointing/reenter.py)."""

import threading
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

_table = threading.Lock()
resumable: Any = WeakKeyDictionary()  # run -> the lock of whoever lets it go on
_locks_held = ContextVar("polyad_locks_held", default=frozenset())  # runs that this context has to itself


def may_go_on(run):
    """Note that a run, a derivative, may go on once more after its end."""
    with _table:
        resumable.setdefault(run, threading.Lock())


def owner_of(run):
    """An object to keep by whoever can walk back over a run's record, None if the run does not go on."""
    return Owner(run) if run in resumable else None


class Owner:
    """At its end the record is given up: it leads to what lets the run go on, which leads to the run, and their arrays would
    wait for the garbage collector."""

    __slots__ = ("run",)

    def __init__(self, run):
        self.run = run

    def __del__(self):
        self.run.tape = []


def walk_alone(run):
    """The context in which to walk back over a run's record."""
    return alone((run,)) if run in resumable else nullcontext()


@contextmanager
def alone(runs):
    """Have those of the runs to oneself that have ended. Threads in a copied context share what it has."""
    held = _locks_held.get()
    with _table:
        ended = [r for r in runs if r not in held and (r.closed or r in resumable)]
        locks = {r: resumable.setdefault(r, threading.Lock()) for r in ended}
    with ExitStack() as stack:
        for r in sorted(locks, key=lambda r: r.depth):  # in one order, so that no two threads wait for each other
            stack.enter_context(locks[r])
        token = _locks_held.set(held.union(ended))
        try:
            yield
        finally:
            _locks_held.reset(token)
