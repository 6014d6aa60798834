"""Whether MPI reads the memory of devices is tried in a process of its own."""

import sys
from types import SimpleNamespace

import pytest

from polyad.parallel.gpu.self_test import reads_devices

KINDS = {"right": "pass", "wrong": "assert False", "crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
         "missing": "import no_such_module"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_process_that_ends_well_counts(monkeypatch, kind):
    monkeypatch.delenv("POLYAD_GPU_MPI", raising=False)
    module = sys.modules[reads_devices.__module__]
    monkeypatch.setattr(module, "_EXCHANGE", "def exchange(x, y): y[:] = x\n")
    carriage = SimpleNamespace(test=f"x, y = [1], [0]\nexchange(x, y)\nassert y == [1]\n{KINDS[kind]}")
    assert module.reads_devices.__wrapped__(carriage) == (kind == "right")


def test_what_is_said_is_not_tried(monkeypatch):
    for said, right in (("0", False), ("1", True)):
        monkeypatch.setenv("POLYAD_GPU_MPI", said)
        assert reads_devices.__wrapped__(None) is right
