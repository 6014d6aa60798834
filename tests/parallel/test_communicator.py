"""The communicator: every collective against NumPy on 1, 2 and 3 ranks, and every fault with its message and status."""

import importlib.util
import re
import subprocess
import sys
import types

import numpy as np
import pytest

from polyad.parallel import communicator, mpi_library
from polyad.parallel.communicator import CollectiveMismatch, Communicator
from polyad.parallel.transport import OneProcess

pytestmark = pytest.mark.quick

# Runs on every rank; what the other ranks hold is computed again here, so no communication is trusted to check it.
NUMERIC = """
import threading
import numpy as np
from polyad.parallel.communicator import CollectiveMismatch, Communicator, world

w = world()
r, n = w.rank, w.size
assert world() is w and isinstance(w, Communicator) and len(w.library) > 3

DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.longlong,
          np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.clongdouble]
SHAPES = [(), (0,), (3,), (2, 0, 4), (2, 3, 4)]


def values(shape, dtype, rank):
    rng = np.random.default_rng(7 * rank + 1)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    v = rng.integers(0, 100, shape) - (0 if dtype.kind == "u" else 50)
    return np.asarray(v + 1j * rng.integers(0, 9, shape) if dtype.kind == "c" else v).astype(dtype)


def same(got, want, what):
    want = np.asarray(want)
    assert type(got) is np.ndarray and got.flags.c_contiguous and got.flags.writeable, what
    assert got.shape == want.shape and got.dtype == want.dtype, (what, got.shape, want.shape, got.dtype, want.dtype)
    assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), what


for dtype in map(np.dtype, DTYPES):
    for shape in SHAPES:
        every = np.stack([values(shape, dtype, k) for k in range(n)])
        mine = every[r]
        inputs = [mine, mine.astype(dtype.newbyteorder(">")), np.array(mine, order="F")]
        if mine.ndim:
            inputs.append(np.repeat(mine, 2, axis=-1)[..., ::2])
        for x in inputs:
            before = x.copy()
            what = (dtype, shape, x.dtype, x.strides)
            same(w.allreduce(x), np.sum(every, axis=0), ("sum", what))
            if dtype.kind != "c":
                same(w.allreduce(x, "max"), every.max(axis=0), ("max", what))
                same(w.allreduce(x, "min"), every.min(axis=0), ("min", what))
            same(w.allgather(x), every, ("allgather", what))
            for root in range(n):
                same(w.bcast(x, root), every[root], ("bcast", what))
            same(w.exchange(x, (r - 1) % n, (r + 1) % n), every[(r - 1) % n], ("ring", what))
            shifted = w.exchange(x, r - 1 if r else None, r + 1 if r + 1 < n else None)
            same(shifted, every[r - 1] if r else np.zeros_like(mine), ("shift", what))
            assert np.array_equal(before, x), what
        blocks = np.stack([values((n, *shape), dtype, 50 + k) for k in range(n)])
        same(w.alltoall(blocks[r]), blocks[:, r], ("alltoall", dtype, shape))
        same(w.reduce_scatter(blocks[r]), np.sum(blocks[:, r], axis=0), ("reduce_scatter", dtype, shape))
        if shape:   # rank 0 has no rows at all
            parts = [values((k + 2 * (k % 2), *shape[1:]), dtype, k) for k in range(n)]
            same(w.allgatherv(parts[r]), np.concatenate(parts), ("allgatherv", dtype, shape))
same(w.allgatherv(np.zeros((0, 3))), np.zeros((0, 3)), "allgatherv of nothing")

for dtype in (np.float16, np.float32, np.float64, np.longdouble):
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -1.5, np.finfo(dtype).tiny,
                        np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max], dtype)
    every = np.stack([np.roll(special, 3 * k) for k in range(n)])
    same(w.allreduce(every[r], "max"), every.max(axis=0), ("max", dtype))
    same(w.allreduce(every[r], "min"), every.min(axis=0), ("min", dtype))
    for op in ("max", "min"):   # NaN on one rank arrives on all of them
        assert np.isnan(w.allgather(w.allreduce(dtype(np.nan if r == n - 1 else 1), op))).all(), (dtype, op)

same(w.allreduce(np.float64(2)), np.float64(2 * n), "NumPy scalar")
same(w.allreduce(3), np.int64(3 * n), "Python int")
same(w.allreduce(np.full(4, 100, np.int8)), np.full(4, 100 * n, np.int64), "int8 does not wrap")
for size in (1, 1000, 300_000):   # rounding is the same on all ranks
    assert w.agree(w.allreduce(np.random.default_rng(r).standard_normal(size)).tobytes()), size

texts = [{"rank": k, "text": "\\u00e9" * 1000 * k} for k in range(n)]
assert w.gather_objects(texts[r]) == texts
assert w.agree((1, "a")) and w.agree({1, 2}) and w.agree(1 if r else 1.0) and w.agree(r) == (n == 1)
w.barrier(label="here")

for bad, error in [(lambda: w.allreduce(np.array([None])), TypeError),
                   (lambda: w.allreduce(np.ones(2, complex), "max"), TypeError),
                   (lambda: w.allreduce(np.ones(2), "prod"), ValueError),
                   (lambda: w.allreduce(np.ma.masked_array([1, 2], [0, 1])), TypeError),
                   (lambda: w.bcast(1, n), ValueError), (lambda: w.bcast(1, -1), ValueError),
                   (lambda: w.alltoall(np.ones(n + 1)), ValueError),
                   (lambda: w.reduce_scatter(np.float64(1)), ValueError),
                   (lambda: w.allgatherv(np.float64(1)), ValueError),
                   (lambda: w.allgather(np.array(["a"])), TypeError),
                   (lambda: w.allgather(np.array(["2020-01-01"], "M8[D]")), TypeError),
                   (lambda: w.exchange(1, n, None), ValueError),
                   (lambda: w.exchange(1.0, 0, None), CollectiveMismatch)]:   # rank 0 sends nothing to rank 0
    try:
        bad()
    except error as caught:
        assert len(str(caught)) > 20, caught
    else:
        raise AssertionError(f"{error} expected")

if n > 1:
    try:
        w.allreduce(np.ones(2 + r))
    except CollectiveMismatch as caught:
        assert w.agree(str(caught)) and "script.py:" in str(caught), caught
    else:
        raise AssertionError("CollectiveMismatch expected")
    same(w.allreduce(np.ones(2)), np.full(2, float(n)), "the ranks are still in step")

sums = []
threads = [threading.Thread(target=lambda: sums.extend(float(w.allreduce(1.0)) for _ in range(50))) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sums == [float(n)] * 150
"""


@pytest.mark.parametrize("n", [1, 2, 3])
def test_collectives_give_what_numpy_gives(mpirun, n):
    mpirun(NUMERIC, n)


def test_one_rank_without_mpi_gives_the_same(monkeypatch):
    monkeypatch.setattr(communicator, "_world", Communicator(OneProcess("one process, no MPI")))
    exec(compile(NUMERIC, "script.py", "exec"), {"__name__": "script"})


# --- faults ------------------------------------------------------------------------------------------------------

FAULTY = """
import os, signal, sys, threading, time
import numpy as np
fault, first = os.environ["FAULT"], os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "0"
if fault == "earlier hook":
    sys.excepthook = lambda kind, error, trace: print("earlier hook saw", kind.__name__, flush=True)
if fault == "raise before world" and not first:
    raise ValueError("boom")
if fault == "no mpi4py":
    sys.modules["mpi4py"] = None
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
if fault == "extra" and first: w.allreduce(x)
if fault in ("raise", "earlier hook"):
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
    from polyad.parallel.guard import Signature
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
        ("map", [MISMATCH, r"rank 0: comparison \[pmap\(sin\)\]: the start at script\.py:\d+\n", f"rank 1: {FLOATS}"]),
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


def test_an_earlier_excepthook_is_called(mpirun):
    job = mpirun(FAULTY, 2, timeout=20, env={"FAULT": "earlier hook"}, expect_success=False, fresh=True)
    assert job.stdout.count("earlier hook saw ValueError") == 1, str(job)
    assert "[rank 1/2] ValueError: boom" in job.stderr, str(job)


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


def test_a_rank_may_compute_on_after_the_others_have_finished(mpirun):
    script = """
        import time
        from polyad.parallel.communicator import world
        w = world()
        w.barrier()
        if w.rank == 0:
            time.sleep(2)
    """
    job = mpirun(script, 2, timeout=20, env={"POLYAD_DEADLINE": "1"})
    expected = "[rank 1/2] has finished and waits for rank 0:\n  rank 0 has left collective 1, barrier,"
    assert expected in job.stderr, str(job)


# --- without MPI -------------------------------------------------------------------------------------------------

LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_ID")


@pytest.fixture
def launch(monkeypatch):
    def set_variables(**variables):
        for name in LAUNCHERS:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    set_variables()
    return set_variables


@pytest.mark.parametrize(
    ("variables", "size"),
    [
        ({}, 1),
        ({"PMI_SIZE": "3"}, 3),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": ""}, 1),
        ({"SLURM_NTASKS": "8"}, 1),  # a batch script on one node of an allocation
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, 8),
    ],
)
def test_size_that_the_launcher_announced(launch, variables, size):
    launch(**variables)
    assert mpi_library.launched_size()[0] == size


def _module_without_a_library():
    class Broken(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("cannot load MPI library\nlibmpi.so: not found")

    return Broken("mpi4py")


@pytest.mark.parametrize("module", [None, _module_without_a_library()], ids=["no mpi4py", "no MPI library"])
def test_world_is_one_rank_where_mpi_cannot_be_loaded(launch, monkeypatch, module):
    before = sys.excepthook
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    monkeypatch.setattr(communicator, "_world", None)
    w = communicator.world()
    assert (w.rank, w.size, w.library) == (0, 1, "one process, no MPI") and communicator.world() is w
    assert sys.excepthook is before  # hooks only where there are other ranks to end
    launch(PMI_SIZE="2")
    monkeypatch.setattr(communicator, "_world", None)
    with pytest.raises(RuntimeError, match="started 2 processes .*PMI_SIZE=2.* 1 rank"):
        communicator.world()


def test_results_are_never_the_callers_buffer():
    w = Communicator(OneProcess("one process, no MPI"))
    x = np.arange(3.0)[None]
    results = [
        w.allreduce(x),
        w.allreduce(x, "max"),
        w.allgather(x),
        w.allgatherv(x),
        w.bcast(x),
        w.alltoall(x),
        w.reduce_scatter(x),
        w.exchange(x, 0, 0),
        w.exchange(x, None, None),
    ]
    assert not any(np.shares_memory(x, result) for result in results)
    assert not w.exchange(x, None, None).any()


def test_one_rank_refuses_an_unpaired_exchange():
    w = Communicator(OneProcess("one process, no MPI"))
    with pytest.raises(CollectiveMismatch, match="not paired"):
        w.exchange(np.ones(2), None, 0)


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_a_deadline_that_is_no_number_is_named(launch, monkeypatch, text):
    monkeypatch.setenv("POLYAD_DEADLINE", text)
    monkeypatch.setattr(communicator, "_world", None)
    with pytest.raises(ValueError, match="POLYAD_DEADLINE"):
        communicator.world()


def test_a_rank_that_raises_before_it_starts_mpi_ends_the_job(mpirun):
    """Its peers already wait for it inside MPI's start, where nothing in Python can reach them."""
    script = """
    import os
    import polyad as pa
    if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
        raise ValueError("no data on this rank")
    pa.world().barrier()
    """
    finished = mpirun(script, 2, timeout=40, expect_success=False, fresh=True)
    assert finished.stderr.count("ValueError: no data on this rank") == 1


def test_a_rank_that_raises_while_no_rank_uses_mpi_ends_the_job(mpirun):
    script = """
    import os
    import polyad as pa
    if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
        raise ValueError("no data on this rank")
    """
    finished = mpirun(script, 2, timeout=40, expect_success=False, fresh=True)
    assert finished.stderr.count("ValueError: no data on this rank") == 1


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


@pytest.mark.parametrize("ranks", [1, 2, 3])
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
