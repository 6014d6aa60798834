"""The hooks that end a job: what they print, what they leave to the hooks before them, and where only Python's own are used."""

import atexit
import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from polyad.parallel import CollectiveError, abort

pytestmark = pytest.mark.quick


class Comm:
    """A communicator of three ranks, of which this is the second; `ended`: the statuses with which it was to end."""

    def __init__(self):
        self.ended = []

    def Get_rank(self):
        return 1

    def Get_size(self):
        return 3

    def Abort(self, status):
        self.ended.append(status)


@pytest.fixture
def hooks(monkeypatch):
    """Hooks as they are before a guard exists, with the user's before them; after the test all is as it was."""
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(str(error)))
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(f"in a thread: {args.exc_value}"))
    monkeypatch.setattr(sys, "exit", lambda status=None: seen.append(f"exit {status}"))
    monkeypatch.setattr(atexit, "register", lambda f: seen.append("registered"))
    monkeypatch.setattr(abort, "GRACE", 0.0)
    made = abort.AbortHooks(Comm())
    assert seen == ["registered"]
    seen.clear()
    return made, seen


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return type(error), caught, caught.__traceback__


def test_an_error_ends_the_job_after_the_hook_that_was_there(hooks, capsys):
    made, seen = hooks
    sys.excepthook(*raised(ValueError("boom\nand more")))
    assert seen == ["boom\nand more"] and made._comm.ended == [1]
    assert capsys.readouterr().err == "[rank 1/3] ValueError: boom\n"  # the traceback is the hook's that was there


def test_pythons_own_traceback_is_printed_with_the_rank(monkeypatch, capsys):
    for module, name in ((sys, "excepthook"), (threading, "excepthook"), (sys, "exit")):
        monkeypatch.setattr(module, name, getattr(module, f"__{name}__", getattr(module, name)))
    monkeypatch.setattr(atexit, "register", lambda f: None)
    monkeypatch.setattr(abort, "GRACE", 0.0)
    abort.AbortHooks(Comm())
    sys.excepthook(*raised(ValueError("boom")))
    text = capsys.readouterr().err
    assert text.startswith("[rank 1/3] Traceback (most recent call last)") and text.endswith("ValueError: boom\n")


def test_a_thread_ends_the_job_after_a_failed_collective_alone(hooks):
    made, seen = hooks
    for error in (ValueError("mine"), CollectiveError("all are lost")):
        kind, value, trace = raised(error)
        threading.excepthook(SimpleNamespace(exc_type=kind, exc_value=value, exc_traceback=trace, thread=None))
    assert seen == ["in a thread: mine", "all are lost"] and made._comm.ended == [1]


def test_a_forked_child_has_the_hooks_that_were_there(hooks, monkeypatch, capsys):
    made, seen = hooks
    made.guard = SimpleNamespace(ending="")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    sys.excepthook(*raised(ValueError("a child's")))
    sys.exit(2)
    made._at_exit()  # a guard without `finish`: it is not asked
    assert seen == ["a child's", "exit 2"] and made._comm.ended == [] and made.guard.ending == ""
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("status", "text"), [(None, ""), (3, "3"), ("x" * 99, "'" + 59 * "x")])
def test_an_exit_says_where_it_was_and_what_with(hooks, status, text):
    made, seen = hooks
    sys.exit(status)
    made.guard = SimpleNamespace(ending="")
    sys.exit(status)
    assert seen == [f"exit {status}"] * 2
    assert made.guard.ending.startswith(f" by sys.exit({text}) at test_abort.py:")


def test_a_closed_stderr_does_not_hide_the_end(hooks, monkeypatch):
    made, seen = hooks
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sys, "stdout", stream)
        sys.excepthook(*raised(ValueError("boom")))
    assert made._comm.ended == [1, 1]


def test_a_collective_that_fails_at_the_end_ends_the_job_without_a_traceback(hooks, capsys):
    made, seen = hooks
    made._at_exit()  # without a guard there is nothing to finish

    def finish():
        raise CollectiveError("rank 0 has gone on")

    made.guard = SimpleNamespace(finish=finish)
    made._printed_elsewhere = lambda headline, patience: False
    made._at_exit()
    assert made._comm.ended == [1] and seen == []
    assert capsys.readouterr().err == "[rank 1/3] polyad.parallel.errors.CollectiveError: rank 0 has gone on\n"


HOOK = """
import os, sys
sys.excepthook = lambda kind, error, trace: print("earlier hook saw", kind.__name__, flush=True)
import numpy as np
from polyad.parallel import world
world().allreduce(np.ones(4))
if world().rank: raise ValueError("boom")
world().allreduce(np.ones(4))
"""


def test_an_earlier_excepthook_is_called(mpirun):
    job = mpirun(HOOK, 2, timeout=20, expect_success=False, fresh=True)
    assert job.stdout.count("earlier hook saw ValueError") == 1, str(job)
    assert "[rank 1/2] ValueError: boom" in job.stderr, str(job)
