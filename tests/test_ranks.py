"""What the tests' own ranks are: new processes, each with nothing of the script before, and gone when their job has ended."""

import os
import re
import time

import pytest

SCRIPT = """
import builtins, os, signal, subprocess, sys, time
import numpy as np
import polyad as pa

assert __name__ == "__main__" and sys.argv == [__file__] and sys.path[0] == os.path.dirname(__file__)
assert not hasattr(builtins, "left_over") and "LEFT_OVER" not in os.environ and "left_over" not in pa.__dict__
assert os.environ["GIVEN"] == "here" and pa.world().size == 2
builtins.left_over = pa.left_over = os.environ["LEFT_OVER"] = "by an earlier script"
pa.world().barrier()
print("RANK", os.getpid(), hash("a word"), np.random.rand(), pa.world().rank)
if os.environ.get("SLEEP"):
    child = subprocess.Popen(["sleep", "50"])
    forked = os.fork()
    if forked:
        print("CHILDREN", child.pid, forked)
    time.sleep(50)
"""


def ranks(job):
    return [line.split() for line in re.findall(r"RANK (.*)\n", job.stdout)]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_each_script_has_processes_of_its_own(mpirun):
    jobs = [mpirun(SCRIPT, 2, env={"GIVEN": "here"}) for _ in range(2)]
    processes, hashes, draws, numbers = map(set, zip(*ranks(jobs[0]), *ranks(jobs[1])))
    assert len(processes) == len(draws) == 4 and numbers == {"0", "1"}
    assert len({h for _, h, _, _ in ranks(jobs[0])}) == 2  # sets are in another order on another rank


def test_nothing_is_left_of_a_job_that_takes_too_long(mpirun):
    with pytest.raises(AssertionError, match="timed out") as told:
        mpirun(SCRIPT, 2, timeout=5, env={"GIVEN": "here", "SLEEP": "1"})
    text = str(told.value)
    pids = {int(pid) for found in re.findall(r"RANK (\d+)|CHILDREN (\d+) (\d+)", text) for pid in found if pid}
    assert len(pids) == 6 and os.getpid() not in pids, text
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_a_rank_that_is_killed_ends_its_job_and_not_the_next(mpirun):
    job = mpirun("import os, polyad as pa; pa.world().barrier(); os.kill(os.getpid(), 9)", 2, expect_success=False)
    assert job.done == [] and "Killed (signal 9)" in job.stdout, str(job)
    mpirun("import sys, polyad as pa; pa.world().barrier(); sys.exit(3)", 2, expect_success=False)
    mpirun(SCRIPT, 2, env={"GIVEN": "here"})
