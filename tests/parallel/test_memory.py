"""Freed memory stays with a rank. In processes of their own: the setting is one of the process."""

import subprocess
import sys

import pytest

from polyad.parallel import memory

pytestmark = pytest.mark.quick

FAULTS = """
import resource, sys
import numpy as np
from polyad.parallel.memory import REUSED, keep_freed_memory

def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        kept = [np.ones(size // 8) for _ in range(3)]
        del kept
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if keep_freed_memory():
    faults(REUSED // 8)
    print(faults(REUSED // 8))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the setting is glibc's")
def test_arrays_that_are_freed_cost_no_faults_the_next_time():
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" or int(done.stdout) < 100, done.stdout  # thousands, where memory goes back; "": another library


def test_a_users_choice_stands(monkeypatch):
    for name in ("MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert memory.keep_freed_memory() is False


def test_another_library_is_left_alone(monkeypatch):
    for name in memory._CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed_memory() is False
