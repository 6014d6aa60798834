"""Children of a process: forked ones end quietly, and a child of a rank is one process."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from polyad.parallel import launched_process, mpi_library

pytestmark = pytest.mark.quick


FORKS = """
import multiprocessing, os, sys
import numpy as np
import polyad as pa

double = pa.pmap(lambda x: pa.psum(x, "i") * 2, axis_name="i")
np.testing.assert_array_equal(double(np.ones(4)), [8] * 4)

def status(end):
    child = os.fork()
    if child == 0:
        end()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def fail():
    raise ValueError("in a child")

assert [status(end) for end in (sys.exit, lambda: sys.exit(7), fail, lambda: os._exit(5))] == [0, 7, 1, 5]
process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(3))
process.start()
process.join()
assert process.exitcode == 3
child = os.fork()   # one that comes to the end of the program
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(double(np.ones(4)), [8] * 4)
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
    print(f"PARENT {pa.world().rank}")
else:
    sys.exit()
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_forked_children_end_quietly(mpirun, ranks):
    job = mpirun(FORKS, ranks, fresh=True)
    assert sorted(re.findall(r"PARENT (\d)", job.stdout)) == [str(rank) for rank in range(ranks)]
    # Python writes a traceback in parts, between which another rank's may come
    assert "MPI_" not in job.stderr and job.stderr.count(": in a child") == ranks, str(job)


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="starts MPI in its children")
def test_children_of_a_process_without_a_launcher_end_quietly():
    pytest.importorskip("mpi4py")
    job = subprocess.run([sys.executable, "-P", "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert job.returncode == 0 and job.stdout == "PARENT 0\n" and "rror" not in job.stderr.replace("ValueError", ""), job


def test_a_child_of_a_rank_is_one_process(monkeypatch):
    for name in ("PMI_FD", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", launched_process.MARK):
        monkeypatch.delenv(name, raising=False)
    assert not launched_process.is_child()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert mpi_library.launched_size() == (2, "OMPI_COMM_WORLD_SIZE")
    launched_process.mark()
    assert os.environ[launched_process.MARK].split() == [str(os.getpid())] and not launched_process.is_child()
    monkeypatch.setenv(launched_process.MARK, f"{os.getppid()} ")
    assert launched_process.is_child() and mpi_library.launched_size() == (1, "") and mpi_library.load_mpi(1)[0] is None
    monkeypatch.setenv(launched_process.MARK, f"{os.getppid()} 12345")  # a rank of a job that was started by a rank of another
    assert not launched_process.is_child()
    monkeypatch.setenv("PMI_FD", "1000000")  # closed
    assert launched_process.is_child()
    monkeypatch.setattr(launched_process, "_imported_by", os.getppid())
    monkeypatch.delenv("PMI_FD")
    assert launched_process.is_child()  # forked
