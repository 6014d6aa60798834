"""The guard of collectives: every fault with its message and status, on 2 and 3 ranks."""

import re

import pytest
from jobs import Job

pytestmark = pytest.mark.quick


FAULTY = """
import os, signal, sys, threading, time
import numpy as np
fault, first = os.environ["FAULT"], os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "0"
if fault == "raise before world" and not first:
    raise ValueError("boom")
if fault == "no mpi4py":
    sys.modules["mpi4py"] = None
if fault == "absent before world":
    from mpi4py import MPI
    if not first: time.sleep(60)
    import polyad.parallel.communicator as communicator
    communicator.START_SECONDS = 0
from polyad.parallel.communicator import CollectiveTimeout, world
w = world()
x = np.ones(4)
w.allreduce(x)
if fault == "shape": w.allreduce(np.ones(4 if first else 6))
if fault == "dtype": w.allreduce(np.ones(4, "f8" if first else "i8"))
if fault == "op": w.allreduce(x, "sum" if first else "max")
if fault == "root": w.bcast(x, 0 if first else 1)
if fault == "kind": w.allreduce(x) if first else w.allgather(x)
if fault == "label": w.allreduce(x, label="rows" if first else "columns")
if fault == "pairs": w.exchange(x, None, 1 if first else None)
if fault == "ragged": w.allgatherv(np.ones((2, 3) if first else (2, 4)))
if fault == "order": (w.allreduce(x), w.bcast(x)) if first else (w.bcast(x), w.allreduce(x))
if fault == "order in a map":
    import polyad as pa
    sums = (lambda v: pa.pmax(pa.psum(v, "i"), "i")) if first else (lambda v: pa.psum(pa.pmax(v, "i"), "i"))
    pa.pmap(sums, axis_name="i")(x)
if fault == "return" and first: w.allreduce(x)
if fault == "os._exit":
    if not first: os._exit(0)
    w.allreduce(x)
if fault == "second thread":
    import polyad as pa
    begun, done = threading.Event(), threading.Event()
    def second():
        begun.wait()
        try: w.allreduce(x)
        finally: done.set()
    if not first: threading.Thread(target=second).start()
    pa.pmap(lambda v: (begun.set(), done.wait(5) if not first else 0, pa.psum(v, "i"))[2], axis_name="i")(x)
if fault == "forked child":
    pid = os.fork() if not first else 0
    if not first and pid == 0: w.allreduce(x)
    if pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    w.allreduce(x)
if fault == "extra" and first: w.allreduce(x)
if fault == "raise":
    if not first: raise ValueError("boom")
    w.allreduce(x)
if fault == "raise while others compute":
    if not first: raise ValueError("boom")
    time.sleep(60)
if fault == "all raise": raise ValueError("boom")
if fault == "one catches":
    try: w.allreduce(np.ones(4 if first else 6))
    except RuntimeError:
        if first: raise
    w.allreduce(x)
if fault == "local error": w.allreduce(x if first else np.array([None]))
if fault == "thread":
    thread = threading.Thread(target=lambda: w.allreduce(np.ones(4 if first else 6)))
    thread.start()
    thread.join()
if fault == "sys.exit":
    if not first: sys.exit(3)
    w.allreduce(x)
if fault == "map":
    import polyad as pa
    pa.pmap(np.sin)(x) if first else w.allreduce(x)
if fault == "exit early":
    if not first: sys.exit(0)
    time.sleep(0.3)
    w.allreduce(x)
if fault == "stuck":
    if not first: time.sleep(60)
    w.allreduce(np.ones(2))
if fault == "one of three":
    if w.rank == 1: time.sleep(60)
    w.allreduce(np.ones(2))
if fault == "stuck and caught":
    if not first: time.sleep(60)
    try: w.allreduce(np.ones(2))
    except CollectiveTimeout: sys.exit(0)
if fault == "stopped":
    if not first: os.kill(os.getpid(), signal.SIGSTOP)
    w.allreduce(x)
if fault == "killed":
    if not first: os.kill(os.getpid(), signal.SIGKILL)
    w.allreduce(x)
if fault == "nested":
    from polyad.parallel.signature import Signature
    w._link.run(Signature("outer"), w.barrier)
"""


MISMATCH = "CollectiveMismatch: the ranks do not agree on collective 2:"


FLOATS = r"allreduce\(sum\) of float64 with shape \(4,\)"


TRACEBACK = "Traceback (most recent call last)"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("shape", [MISMATCH, rf"rank 0: {FLOATS} at script\.py:\d+\n", r"rank 1: .*float64 with shape \(6,\) at script"]),
        ("dtype", [MISMATCH, f"rank 0: {FLOATS}", r"rank 1: allreduce\(sum\) of int64 with shape \(4,\)"]),
        ("op", [MISMATCH, f"rank 0: {FLOATS}", r"rank 1: allreduce\(max\) of float64"]),
        ("root", [MISMATCH, "rank 0: bcast of .* from root 0", "rank 1: bcast of .* from root 1"]),
        ("kind", [MISMATCH, f"rank 0: {FLOATS}", "rank 1: allgather of float64"]),
        ("label", [MISMATCH, r"rank 0: .* \[rows\]", r"rank 1: .* \[columns\]"]),
        ("ragged", [MISMATCH, r"rank 0: allgatherv .* \(\*, 3\)", r"rank 1: allgatherv .* \(\*, 4\)"]),
        ("pairs", ["CollectiveMismatch: exchange: .* not paired", "rank 0: source None, dest 1"]),
        ("extra", [MISMATCH, f"rank 0: {FLOATS}", "rank 1: end of the program"]),
        ("exit early", [MISMATCH, f"rank 0: {FLOATS}", "rank 1: end of the program"]),
        ("sys.exit", [MISMATCH, f"rank 0: {FLOATS}", r"rank 1: end of the program by sys\.exit\(3\) at script\.py:\d+\n"]),
        ("map", [MISMATCH, r"rank 0: comparison \[pmap\(sin\)\]: the end at script\.py:\d+\n", f"rank 1: {FLOATS}"]),
        ("one catches", [MISMATCH, r"\[rank 0/2\] Traceback"]),
        ("thread", [MISMATCH, f"rank 0: {FLOATS}"]),
        ("raise", [r"\[rank 1/2\] Traceback", "ValueError: boom"]),
        ("raise while others compute", [r"\[rank 1/2\] Traceback", "ValueError: boom"]),
        ("all raise", [r"\[rank 0/2\] Traceback", r"\[rank 1/2\] ValueError: boom"]),
        ("local error", [r"\[rank 1/2\] Traceback", "TypeError: allreduce: dtype object cannot be sent"]),
        ("nested", ["barrier was called while this thread is still in outer"]),
        (
            "stuck",
            [
                r"CollectiveTimeout: allreduce\(sum\) of float64 with shape \(2,\), collective 2: "
                "rank 1 did not arrive within 1 s",
                f"rank 1 has left collective 1, {FLOATS}",
                "POLYAD_DEADLINE",
            ],
        ),
        ("stopped", ["CollectiveTimeout: .* rank 1 did not arrive within 1 s"]),
    ],
)
def test_a_fault_ends_the_job_with_one_traceback(mpirun, fault, expected):
    job = mpirun(FAULTY, 2, timeout=20, env={"FAULT": fault, "POLYAD_DEADLINE": "1"}, expect_success=False)
    for pattern in expected:
        assert re.search(pattern, job.stderr), f"{pattern}\n{job}"
    assert job.stderr.count(TRACEBACK) == 1, str(job)


FAULTS = {
    "shape": r"shape \(4,\) at script.*shape \(6,\)( at script|.* \(2 ranks\))",
    "dtype": r"float64 with shape.*int64 with shape",
    "op": r"allreduce\(sum\).*allreduce\(max\)",
    "root": "from root 0.*from root 1",
    "kind": r"rank 0: allreduce.*rank 1: allgather",
    "order": r"rank 0: allreduce.*rank 1: bcast",
    "order in a map": "the lanes meet different collectives:.*rank 0, .*psum.*rank 1, ",
    "extra": r"rank 0: allreduce.*rank 1: end of the program",
    "raise": "ValueError: boom",
    "sys.exit": r"rank 0: allreduce.*rank 1: end of the program by sys\.exit\(3\)",
    "return": r"rank 0: allreduce.*rank 1: end of the program",
    "stuck": r"collective 2: ranks? 1(, 2)? did not arrive within 1 s",
    "killed": "",
    "second thread": "while pmap.* is under way in 'MainThread'",
    "forked child": "was called in a forked child, process",
    "absent before world": r"CollectiveTimeout: world\(\): some of the [23] ranks did not call it within 1 s",
}


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_hangs_or_looks_like_a_success(mpirun, fault, n):
    """All ranks but the first do another thing."""
    job = mpirun(FAULTY, n, timeout=30, env={"FAULT": fault, "POLYAD_DEADLINE": "1"}, expect_success=False)
    assert re.search(FAULTS[fault], job.stderr, re.DOTALL), str(job)
    assert len(job.done) < n or fault == "second thread"  # whose rank may be at its end by then


@pytest.mark.mpi
@pytest.mark.parametrize("n", [2, 3])
def test_ranks_that_leave_without_a_word_do_not_look_like_a_success(tmp_path, monkeypatch, n):
    """MPICH's own mpiexec may end with 0 where ranks leave by os._exit(0): the launcher asks whether all came to their end."""
    monkeypatch.setenv("FAULT", "os._exit")
    monkeypatch.setenv("POLYAD_DEADLINE", "1")
    job = Job(tmp_path, monkeypatch)(FAULTY, n, timeout=30)
    assert job.status != 0 and "left without coming to the end of the program" in "; ".join(job.lines), str(job)


@pytest.mark.parametrize("fault", ["killed", "stuck and caught"])
def test_other_faults_end_the_job_too(mpirun, fault):
    mpirun(FAULTY, 2, timeout=20, env={"FAULT": fault, "POLYAD_DEADLINE": "1"}, expect_success=False)


@pytest.mark.slow
def test_a_rank_that_never_comes_to_world_does_not_hold_up_the_others(mpirun):
    settings = {"FAULT": "raise before world", "POLYAD_DEADLINE": "0.5"}
    job = mpirun(FAULTY, 2, timeout=40, env=settings, expect_success=False, fresh=True)
    assert "ValueError: boom" in job.stderr, str(job)


def test_of_three_ranks_the_absent_one_is_named_once(mpirun):
    job = mpirun(FAULTY, 3, timeout=20, env={"FAULT": "one of three", "POLYAD_DEADLINE": "1"}, expect_success=False)
    assert "collective 2: rank 1 did not arrive within 1 s\n  rank 1 has left collective 1" in job.stderr, str(job)
    assert job.stderr.count(TRACEBACK) == 1, str(job)


def test_n_worlds_of_one_rank_are_refused(mpirun):
    job = mpirun(FAULTY, 2, timeout=20, env={"FAULT": "no mpi4py"}, expect_success=False, fresh=True)
    expected = r"RuntimeError: the launcher started 2 processes .* has 1 rank .*pip install"
    assert re.search(expected, job.stderr), str(job)


def test_without_the_check_the_deadline_still_holds(mpirun):
    settings = {"POLYAD_DEADLINE": "1", "POLYAD_COLLECTIVE_CHECK": "0"}
    job = mpirun(FAULTY, 2, timeout=20, env={"FAULT": "stuck", **settings}, expect_success=False)
    assert "rank 1 did not arrive within 1 s" in job.stderr, str(job)
    job = mpirun(FAULTY, 2, timeout=20, env={"FAULT": "sys.exit", **settings}, expect_success=False)
    assert re.search(r"rank 1 has finished its program by sys\.exit\(3\) at script\.py:\d+, [\d.]+ s ago", job.stderr), str(job)
