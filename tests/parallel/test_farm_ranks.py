"""Ranks as workers: every fault with its message and status, and that none of them hangs."""

import re

import pytest

pytestmark = pytest.mark.quick


FAULTY = """
import os, signal, threading, time
import polyad as pa

fault, w = os.environ["FAULT"], pa.world()
rank, last = w.rank, w.size - 1

class Odd(Exception):
    def __init__(self, a, b): super().__init__(f"{a}{b}")

def f(x):
    if fault == "raise" and x == 2: raise ValueError("boom")
    if fault == "odd": raise Odd("why", x)
    if fault == "generator": return (i for i in range(3))
    if fault == "collective": w.barrier()
    if fault == "killed" and threading.current_thread() is threading.main_thread(): os.kill(os.getpid(), signal.SIGKILL)
    if fault == "interrupted there" and threading.current_thread() is threading.main_thread():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
    if fault in ("interrupted", "interrupted there"): time.sleep(30 if fault == "interrupted" else 0.1)
    return x

def items():
    yield 1
    if fault == "items": raise KeyError("of the items")
    yield from range(5)

def on_error(error):
    raise RuntimeError("mine") from error

if fault == "absent" and rank == last: time.sleep(60)
if fault == "early" and rank == last: raise SystemExit(0)
if fault == "interrupted" and rank == 0: threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
if fault == "another" and rank == last: w.barrier()
if fault == "cannot be sent" and rank == last: pa.farm(lambda x, lock=threading.Lock(): x, [1], workers=1)
pa.farm((lambda x: 1 / 0) if fault == "on_error" else f, items(), batch=1 + (fault == "batch" and rank == last),
        on_error=on_error if fault == "on_error" else None)
"""


EXPECTED = [
    ("raise", [r"\[rank 0/N\] ", "ValueError: boom\nfarm\\(f\\): item 3, on rank", "raise ValueError"]),
    ("odd", ["FarmError: Odd: why", "its own type, Odd, could not be sent here", "farm\\(f\\): item"]),
    ("generator", ["FarmError: the result, of type generator, cannot be pickled"]),
    ("collective", ["CollectiveError: barrier was called (while this thread is still in farm|in the thread)"]),
    ("killed", []),
    ("items", ["KeyError: 'of the items'"]),
    ("on_error", ["RuntimeError: mine", "ZeroDivisionError"]),
    ("absent", ["CollectiveTimeout: farm .*farm\\(f\\), batch=1.*: rank L did not arrive within 1 s"]),
    ("early", ["CollectiveMismatch", "rank 0: farm", "rank L: end of the program"]),
    ("another", ["CollectiveMismatch", "rank 0: farm", "rank L: barrier"]),
    ("batch", ["CollectiveMismatch", "rank 0: farm .*batch=1", "rank L: farm .*batch=2"]),
    ("cannot be sent", ["FarmError: farm: <lambda> cannot be sent to worker processes"]),
    ("interrupted", ["KeyboardInterrupt"]),
    ("interrupted there", ["KeyboardInterrupt"]),
]


ON_TWO = ("raise", "absent", "killed", "interrupted", "interrupted there")


@pytest.mark.parametrize(
    ("fault", "expected", "ranks"), [(*row, ranks) for row in EXPECTED for ranks in (2, 3) if ranks == 3 or row[0] in ON_TWO]
)
def test_faults(mpirun, fault, expected, ranks):
    job = mpirun(FAULTY, ranks, timeout=20, env={"FAULT": fault, "POLYAD_DEADLINE": "1"}, expect_success=False)
    for pattern in expected:
        assert re.search(pattern.replace("N", str(ranks)).replace("L", str(ranks - 1)), job.stderr), f"{pattern}\n{job}"


LEAVES = """
import time
import numpy as np
import polyad as pa

def f(x):
    if x == 0:
        time.sleep(0.1)
        raise ValueError("boom")
    time.sleep(0.5)
    return np.zeros(10**6)                                    # too large to be sent before it is asked for

for _ in range(2):
    start = time.monotonic()
    try:
        pa.farm(f, range(9))
    except ValueError:
        pass
    else:
        raise AssertionError
    assert pa.world().allreduce(np.ones(1))[0] == pa.world().size
try:
    pa.farm(f, range(9))                                      # the end comes while ranks are still at work
except ValueError:
    pass
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_after_an_error_the_ranks_are_in_step_and_the_program_ends(mpirun, ranks):
    mpirun(LEAVES, ranks, timeout=30)


CHILDREN = """
import os, polyad as pa

if __name__ == "__main__":
    died = "__import__('os')._exit(7)"
    found = pa.farm(eval, ["1 + 1", died, "2 + 2", "1 / 0"], batch=4, workers=1, on_error=lambda error: error)
    assert found[0] == 2 and found[2] == 4, found
    assert type(found[1]) is pa.WorkerDied and "ended with status 7" in str(found[1]), found
    assert type(found[3]) is ZeroDivisionError and ", process " in found[3].__notes__[0], found
    assert pa.farm(eval, ["__import__('polyad').world().size"], workers=1) == [1]
"""


@pytest.mark.slow
def test_ranks_with_children_outlive_a_death(mpirun):
    mpirun(CHILDREN, 2)


BALANCE = """
import os, time, polyad as pa

def f(seconds):
    time.sleep(seconds)
    return os.getpid()

found = pa.farm(f, [1.0] + [0.01] * 20)
assert found.count(found[0]) < 5 and len(set(found)) == pa.world().size, found
"""


def test_a_slow_item_delays_nobody_else_and_rank_0_works_too(mpirun):
    mpirun(BALANCE, 2)
