"""One thread at a time where a transformation that has ended goes on once more (resume.py), since it has one record."""

import threading
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from weakref import WeakKeyDictionary

_table = threading.Lock()
resumable = WeakKeyDictionary()  # run -> the lock of whoever lets it go on
_held = ContextVar("polyad_locks_held", default=frozenset())  # runs that this context has to itself


def may_go_on(run):
    """Note that a run, a derivative, may go on once more after its end."""
    with _table:
        resumable.setdefault(run, threading.Lock())


def walk_alone(run):
    """The context in which to walk back over a run's record."""
    return alone((run,)) if run in resumable else nullcontext()


@contextmanager
def alone(runs):
    """Have those of the runs to oneself that have ended. Threads in a copied context share what it has."""
    held = _held.get()
    with _table:
        ended = [r for r in runs if r not in held and (r.closed or r in resumable)]
        locks = {r: resumable.setdefault(r, threading.Lock()) for r in ended}
    with ExitStack() as stack:
        for r in sorted(locks, key=lambda r: r.depth):  # in one order, so that no two threads wait for each other
            stack.enter_context(locks[r])
        token = _held.set(held.union(ended))
        try:
            yield
        finally:
            _held.reset(token)
