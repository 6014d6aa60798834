"""What is left of a job: found by the mark of its processes and by what they map, and nothing else."""

import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polyad.parallel.launching import leftovers

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc and /dev/shm")


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "POLYAD_TEST": "/a/mark"}) as process:
        yield process
        process.kill()


@linux
def test_processes_are_found_by_their_mark(sleeper):
    deadline = time.monotonic() + 10  # until the child has become what it is to be
    while not leftovers.processes("POLYAD_TEST=/a/mark") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert leftovers.processes("POLYAD_TEST=/a/mark") == [sleeper.pid]
    assert leftovers.processes("POLYAD_TEST=/a/mar") == []
    assert not leftovers.is_gone(sleeper.pid) and leftovers.exit_of(sleeper.pid) == ""
    leftovers.kill([sleeper.pid])
    while not leftovers.is_gone(sleeper.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert leftovers.is_gone(sleeper.pid) and leftovers.exit_of(sleeper.pid) == "SIGKILL"  # nobody has waited for it
    assert sleeper.wait() == -signal.SIGKILL and leftovers.exit_of(sleeper.pid) == "" and leftovers.is_gone(sleeper.pid)
    leftovers.kill([sleeper.pid])


@linux
def test_shared_memory_is_what_is_mapped():
    paths = [Path("/dev/shm") / name for name in ("mpich_shm_polyad_test", "sm_segment.polyad.test", "polyad_test")]
    try:
        for path in paths:
            path.write_bytes(b"x" * 4096)
        before = leftovers.segments([os.getpid()])  # where a test has started MPI in this process
        maps = []
        for path in paths:
            with path.open("r+b") as file:
                maps.append(mmap.mmap(file.fileno(), 4096))
        found = leftovers.segments([os.getpid(), 999999999]) - before
        assert found == {str(path) for path in paths[:2]}  # not what MPI did not make
        leftovers.remove(found)
        leftovers.remove(found)
        assert [path.exists() for path in paths] == [False, False, True]
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


@linux
@pytest.mark.parametrize("group", [False, True])
def test_a_signal_reaches_the_group_that_a_rank_leads(group):
    program = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    command = [sys.executable, "-I", "-S", "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=group) as process:
        child = int(process.stdout.readline())
        leftovers.send(process.pid, signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
        time.sleep(0.1)
        assert leftovers.is_gone(child) == group
        leftovers.kill([child])
    leftovers.send(process.pid, signal.SIGTERM)
