"""Ranks agree or stop: what they compare, in which process and thread they may, how they end, and that agreeing costs nothing
that grows with their number."""

import re
import sys

import numpy as np
import pytest
from many_ranks import many_ranks

import polyad as pa
from polyad.parallel import checksums
from polyad.parallel.agreement import meet
from polyad.parallel.collectives import Blocks

pytestmark = pytest.mark.quick

COMMON = """
import functools, os, subprocess, sys, threading
import numpy as np
import polyad as pa
from polyad import pmap, psum
from polyad.parallel import CollectiveError, CollectiveMismatch, world

K, square = np.arange(4.0), np.arange(9.0).reshape(3, 3)
w = world()
rank, ranks = w.rank, w.size

def same(found, right):
    np.testing.assert_allclose(found, right, rtol=1e-12)

def refused(f, *texts, kind=CollectiveError):
    try:
        f()
    except kind as error:
        for text in texts:
            assert text in str(error), error
        if isinstance(error, CollectiveError) and texts:  # the same on all ranks
            assert w.agree(str(error)), error
    else:
        raise AssertionError(f"no {kind.__name__}: {texts}")
"""

DEFAULT = (
    COMMON
    + """
# results that hold no lane's value, and are taken for equal
for result in (lambda v: np.ones(2 + rank), lambda v: 1.0 + rank, lambda v: np.float32(1) if rank else 1.0,
               lambda v: {"a": v, "b": np.full(3, rank)}, lambda v: np.where(np.arange(70_000) == 69_000, rank, 0)):
    refused(lambda: pmap(result)(K), "is the same in all lanes of each rank, but differs between the ranks")
refused(lambda: pmap(lambda v: np.ones(2 + rank))(K), "float64[2]", "float64[3]")
for give in (lambda v: psum(v, "i") * (1 + rank), lambda v: psum(v, "i") if rank else psum(v, "i").astype("f4")):
    refused(lambda: pmap(give, axis_name="i", out_axes=None)(K), "result 0 of 1", "POLYAD_COLLECTIVE_CHECK=0")
refused(lambda: pmap(lambda v: (v,) if rank else v)(K), "different structures", kind=pa.LaneSplitError)
same(pmap(lambda v: (rank, v)[1])(K), K)
same(pmap(lambda v: 1.0 if v > 2 else 2.0)(K), [2, 2, 2, 1])  # lanes that part: each has its own

# the call
refused(lambda: pmap(lambda v: v * 1, in_axes=rank % 2)(square), "in_axes: not the same", "rank 0: (0,)", "rank 1: (1,)")
refused(lambda: pmap(lambda v: v * 1, out_axes=rank % 2)(square), "out_axes: not the same", "rank 1: 1")
refused(lambda: pmap(lambda v: v, out_axes={"a": 0} if rank else 0)(K), "out_axes: not the same")
refused(lambda: pmap(lambda v: v * 1, axis_name="ab"[rank % 2])(K), "axis_name: not the same", "rank 0: 'a'")
refused(lambda: pmap(lambda: 1.0, axis_size=3 + rank)(), "the number of lanes differs")
F = lambda x: pa.sum(pmap(lambda v: v * v)(x))
around = [(F, "none"), (pa.grad(F), "a derivative backwards"), (lambda x: pa.jvp(F, (x,), (x,)), "a derivative forwards"),
          (lambda x: pa.vmap(F)(np.stack([x, x])), "a map"), (lambda x: pa.make_ir(F)(x), "a trace"), (pa.jit(F), "jit")]
for (f, name), (g, other) in zip(around, [*around[1:], around[0]]):
    refused(lambda: (g if rank == 1 else f)(K), "the transformations around it", f"rank 0: {name}", f"rank 1: {other}")
G = lambda x, y: pa.sum(pmap(lambda v, u: v * u)(x, y))
refused(lambda: pa.grad(G, rank % 2)(K, K), "argument 0", "a derivative")
inside = lambda v: pa.grad(lambda x: psum(x * x, "i"))(v) if v > 2 else psum(v, "i")
refused(lambda: pmap(inside, axis_name="i")(K[4 - ranks :]), kind=pa.LaneSplitError)

_, pull = pa.vjp(f := pmap(lambda v: psum(v, "i"), axis_name="i"), K)
call = lambda: f(K) if rank == 1 else pull(K)
refused(call, "not in the same call", ": psum", ": a derivative", kind=CollectiveMismatch)

# whole arguments: each element, on both sides of the sizes at which sums are taken
for n in (3, 65_535, 65_536, 65_537, 200_000):
    for place in (0, n // 2 + 1, n - 1):
        x = np.zeros(n)
        x[place] = rank == 1
        refused(lambda: pmap(lambda v, x: v, in_axes=(0, None))(K, x), "argument 1 differs between the ranks")
swapped = np.random.default_rng(0).standard_normal(150_000)
if rank:
    swapped[[100, 101]] = swapped[[101, 100]]
refused(lambda: pmap(lambda v: v)(swapped[:, None]), "argument 0 differs")
refused(lambda: pmap(lambda v: v)(swapped.astype("c16").reshape(300, 500).T), "argument 0 differs")
bits = np.zeros(1_000_003, bool)
bits[-1] = rank
refused(lambda: pmap(lambda v, b: v, in_axes=(0, None))(K, bits), "argument 1 differs")
refused(lambda: pmap(lambda v: pa.sum(v * x))(K) if (x := swapped) is not None else 0, "the closure variable 'x' differs")

# jit around a map: no false error, and nothing of it again where another answer makes f be traced again
f = pmap(lambda x: x * 2)
for _ in range(3):
    same(pa.jit(f)(K), 2 * K)
    same(pa.jit(pa.grad(F))(K), 2 * K)
    same(pa.grad(pa.jit(F))(K), 2 * K)
    same(pa.jit(pmap(lambda x: x / psum(x, "i"), axis_name="i"))(K), K / 6)
jitted = pa.jit(lambda x, w: pa.sum(pmap(lambda v: v * w)(x)) if pa.sum(pmap(lambda v: v * v)(x)) > 20 else w)
for x, right in [(K, 3), (2 * K, 36), (K, 3), (2 * K, 36)]:
    same(jitted(x, 3.0), right)
held = {}
def hidden(w):
    held["w"] = w
    return pa.sum(pmap(lambda x: x * held["w"])(K))
refused(lambda: pa.jit(hidden)(2.0), "jit(hidden)", "in_axes=None", kind=pa.LeakedLayerError)

# processes and threads
code = "import numpy as np, polyad as pa; print(pa.world().size, pa.pmap(lambda x: x * 2)(np.arange(2.0)))"
child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
assert child.stdout == "1 [0. 2.]\\n", child
pid = os.fork()
if pid == 0:
    told = []
    for call in (lambda: world().allreduce(1.0), lambda: f(K)):
        try:
            call()
        except CollectiveError as error:
            told.append(f"in a forked child, process {os.getpid()}, of rank {rank}" in str(error))
    os._exit(told != [True, True])
assert os.waitpid(pid, 0)[1] == 0
begun, tried, told = threading.Event(), threading.Event(), []
def second():
    begun.wait()
    for call in (lambda: w.allreduce(1.0), lambda: f(K)):
        try:
            call()
        except CollectiveError as error:
            told.append(str(error))
    tried.set()
def body(x):
    begun.set()
    tried.wait()
    return psum(x, "i")
thread = threading.Thread(target=second, name="second")
thread.start()
same(pmap(body, axis_name="i")(K), [6] * 4)
thread.join()
assert ["in the thread 'second' while pmap(body) is under way in 'MainThread'" in text for text in told] == [True] * 2, told
found = []
thread = threading.Thread(target=lambda: found.append(f(K)))  # one after the other is fine
thread.start()
thread.join()
same(found[0], 2 * K)
same(pmap(lambda x: psum(x, "i"), axis_name="i")(K), [6] * 4)
"""
)


def test_what_ranks_compare(mpirun):
    mpirun(DEFAULT, 3, timeout=300)


STRICT = (
    COMMON
    + """
assert w.strict
factor, table, flag = 2.0 + rank, {"a": [1, 2 + rank]}, rank == 1
class Model:
    def __init__(self, scale): self.scale = scale
    def step(self, x): return x * self.scale
def helper(x): return x * factor
two, three = (lambda x: x * 2), (lambda x: x * 3)
number = rank + 1
for f, what in [(two if rank else three, "the code of the function"), (lambda x: x * factor, "'factor'"),
                (lambda x: x * table["a"][1], "'table'"), (lambda x: -x if flag else x, "'flag'"),
                (Model(rank).step, "'scale'"), (lambda x: helper(x), "'factor'"), ((lambda n: lambda x: x * n)(number), "'n'"),
                (lambda x, k=(rank, 1): x * k[1], "the code of the function"),
                (functools.partial(lambda k, x: x, rank), "an argument of partial")]:
    refused(lambda: pmap(f)(K), what, "differs between the ranks")
same(pmap(lambda x: x * np.pi + len("ab"))(K), K * np.pi + 2)

# asking for the rank, inside of a map; outside of it, and for the number of ranks, anyone may
asking = lambda x: x * world().rank
helper = lambda x: x * (0 if w.rank else 1)
at_one = lambda x: x * (w.rank if x > 2 else 1)
checkpointed = lambda x: pa.checkpoint(asking)(x)
for f in (asking, helper, at_one, pa.jit(asking), pa.grad(helper), lambda x: psum(asking(x), "i"), checkpointed):
    for F in (pmap(f, axis_name="i"), pa.grad(lambda x: pa.sum(pmap(f, axis_name="i")(x))), pa.jit(pmap(f, axis_name="i"))):
        refused(lambda: F(K), kind=(pa.RankError, CollectiveError))
refused(lambda: pmap(asking)(K), "world().rank was read inside pmap(<lambda>)", "axis_index of the map's", kind=pa.RankError)
same(pmap(lambda x: x * w.size, in_axes=w.rank * 0)(K), ranks * K)
same(pmap(lambda x: x / psum(x, "i"), axis_name="i")(K), K / 6)
same(pmap(Model(3.0).step)(K), 3 * K)

def sums(x):
    if rank == 1:
        b = psum(x * x, "i")
        a = psum(x, "i")
    else:
        a = psum(x, "i")
        b = psum(x * x, "i")
    return a - b
refused(lambda: pmap(sums, axis_name="i")(K), kind=CollectiveError)
each = lambda x: (psum(x, "i") if x > 2
                  else psum(2 * x, "i"))  # lanes may call it in branches of their own
same(pmap(each, axis_name="i")(K), [9] * 4)
if rank == 1:
    swap = lambda: (w.allreduce(2.0), w.allreduce(1.0))
else:
    swap = lambda: (w.allreduce(1.0), w.allreduce(2.0))
refused(swap, "script.py:", "rank 0: allreduce(sum)", kind=CollectiveMismatch)
(w.allreduce(1.0, label="one") if rank else
 w.allreduce(1.0, label="one"))
same(w.allreduce(1.0), ranks)
sys.modules["polyad.parallel.rank_axis"].reads = lambda f: []  # as if nothing but the order differed
refused(lambda: pmap(sums, axis_name="i")(K), "different lines of the program", "called at script.py:", kind=CollectiveMismatch)
"""
)


def test_strict_compares_functions_and_places(mpirun):
    mpirun(STRICT, 2, timeout=300, env={"POLYAD_COLLECTIVE_CHECK": "strict"})


ENDING = """
import os, threading, time
from polyad.parallel.communicator import world
w = world()
w.barrier()
fault = os.environ["FAULT"]
forever = threading.Event().wait
if fault == "stuck" and w.rank == 1: forever()
if fault == "threads": threading.Thread(target=forever, name="reader").start()
if fault == "raw" and w.rank == 1:
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize(("fault", "told"), [
    ("stuck", r"end of the program, collective 2: rank 1 did not arrive within 2 s\n  rank 1 has left .*POLYAD_END_DEADLINE"),
    ("threads", r"not its thread 'reader' within 2 s; make it a daemon.*POLYAD_END_DEADLINE"),
    ("raw", r"rank 1 did not arrive within 2 s"),
], ids=["stuck", "threads", "raw"])  # fmt: skip
def test_a_rank_that_does_not_end_ends_the_job(mpirun, fault, told):
    settings = {"FAULT": fault, "POLYAD_DEADLINE": "1", "POLYAD_END_DEADLINE": "2"}
    job = mpirun(ENDING, 2, timeout=60, env=settings, expect_success=False)
    assert re.search(told, job.stderr, re.DOTALL), str(job)


DISTINCT = (
    COMMON
    + """
from polyad.parallel.agreement import WORDS, meet
from polyad.parallel.collectives import Blocks
blocks = Blocks(w, 2 * ranks, "a map")
def words(what, **options):
    found = w.distinct(what, **options)
    assert w.agree(found)
    return sorted(found, key=lambda word: word.rank)
assert words(("all", 1)) == [(("all", 1), 0, ranks)]
assert words(rank % 2) == [(0, 0, (ranks + 1) // 2), (1, 1, ranks // 2)]
assert words(rank, most=2) == sorted(words(rank, most=2)) and len(words(rank, most=2)) == min(ranks, 2)
assert words(rank) == [(k, k, 1) for k in range(ranks)]
assert w.distinct("x" * rank, first=rank == ranks - 1)[0] == ("x" * (ranks - 1), ranks - 1, 1)
assert w.distinct(rank, first=True) == [(0, 0, ranks)]
assert words(b"long" * 5000 if rank else None)[-1].what == b"long" * 5000

# where ranks tell different things, each hears each once; and no more of them than it can bear
met = meet(blocks, "here", rank % 2)
assert met.details == [0, 1] and not met.unanimous and [word.count for word in met.words] == [(ranks + 1) // 2, ranks // 2]
assert meet(blocks, "here", "one").details == ["one"] and meet(blocks, "here", "one").unanimous
sys.modules["polyad.parallel.agreement"].WORDS = 1
refused(lambda: meet(blocks, "here", rank), "tell more than 1 different things at here", kind=CollectiveMismatch)

# equal, in pickles of other bytes; equal on no rank, not even to itself
assert w.agree({"a", "b", "c", "d"}) and w.agree(1 if rank else 1.0) and not w.agree((float("nan"), rank))
assert not w.agree(rank == 0) and not w.agree(rank == ranks - 1)

# what the ranks say of a call, of which two of three make the same
if ranks == 3:
    refused(lambda: w.allreduce(np.ones(2 + (rank == 1))), "rank 0: allreduce(sum) of float64 with shape (2,) at script.py:",
            " (2 ranks)\\n  rank 1: allreduce(sum) of float64 with shape (3,)", kind=CollectiveMismatch)
    refused(lambda: pmap(lambda v: v * 1, in_axes=rank % 2)(square), "rank 0: (0,) (2 ranks)\\n  rank 1: (1,)\\nEvery")
"""
)


@pytest.mark.parametrize("n", [2, 3])
def test_ranks_hear_each_different_thing_once(mpirun, n):
    mpirun(DISTINCT, n)


# ---------------------------------------------------------------------- without MPI

MAPS = {
    "no collective": lambda x: x * 2,
    "a sum": lambda x: x / pa.psum(x, "i"),
    "a sum alone": lambda x: pa.psum(x, "i"),
    "all lanes": lambda x: pa.all_gather(x, "i")[0],
    "a derivative": lambda x: pa.grad(lambda x: pa.psum(x * x, "i"))(x),
}
TABLE, JOINED = "allgather", "allgatherv"  # of blocks of one length, and of several


@pytest.fixture
def costs(monkeypatch, calls):
    """costs(ranks, lanes, f, **options): operations of the messages of a map with f on so many ranks, and its calls of Python
    functions."""

    def run(ranks, lanes, f, out_axes=0):
        comm, messages = many_ranks(ranks)
        monkeypatch.setattr(sys.modules["polyad.parallel.mesh"], "world", lambda: comm)
        x, mapped = np.ones(lanes, np.float32), pa.pmap(f, axis_name="i", out_axes=out_axes)
        for _ in range(3):
            mapped(x)
        messages.clear()
        entered = calls(lambda: mapped(x))
        return [operation for operation, _ in messages], entered

    return run


def test_a_map_sends_few_messages(costs):
    for ranks, lanes, table in [(3, 3, TABLE), (3, 7, JOINED), (3, 2, JOINED)]:
        assert costs(ranks, lanes, MAPS["no collective"])[0] == ["allreduce", table]  # one meeting, and the results
        assert costs(ranks, lanes, MAPS["a sum"])[0] == ["allreduce"] * 3 + [table]
        assert costs(ranks, lanes, MAPS["a sum alone"], None)[0] == ["allreduce"] * 3
        assert costs(ranks, lanes, MAPS["all lanes"], None)[0] == ["allreduce", table, "allreduce"]


def test_small_results_go_together(costs):
    few = lambda x: {"a": x, "b": (x * 2, np.float32(1) * x), "c": x * np.ones((2, 2), np.float32), "d": x > 0}
    assert costs(3, 7, few)[0] == ["allreduce"] + [JOINED] * 2  # one for each dtype
    large = lambda x: (x * np.ones(1 << 16, np.float32), x, x * 2)  # 7 lanes of 256 KiB
    assert costs(3, 7, large)[0] == ["allreduce"] + [JOINED] * 2


def test_a_rank_does_the_same_work_among_ten_and_among_a_hundred_thousand(costs):
    for name, f in MAPS.items():
        few, many = [costs(ranks, ranks, f, None if name in ("a sum alone", "all lanes") else 0) for ranks in (10, 100_000)]
        assert few[0] == many[0], name
        assert abs(few[1] - many[1]) < 10, (name, few[1], many[1])  # some of NumPy's functions call others at some sizes


def test_meeting_is_one_message_of_a_few_bytes_on_any_number_of_ranks():
    for ranks in (2, 100_000):
        comm, messages = many_ranks(ranks)
        assert meet(Blocks(comm, ranks, "a map"), "here", ("detail", 1)).words == [(("detail", 1), 0, ranks)]
        assert messages == [("allreduce", 32)]


def test_checksums_see_each_element_and_their_order(rng):
    shapes = [((7,), "f8"), ((65_536,), "f8"), ((70_001,), "f4"), ((1_100_000,), "?"), ((300, 301), "c16"), ((3,), "U5")]
    for shape, dtype in shapes:
        x = (rng.standard_normal(shape) * 9).astype(dtype)
        known = checksums.checksum(x)
        assert known == checksums.checksum(x.copy()) and known is not None
        assert known != checksums.checksum(x.reshape(1, *shape))
        for i in rng.integers(0, x.size, 5):
            y = x.copy()
            y.flat[i] = y.flat[i] == 0 if dtype != "U5" else "other"
            assert checksums.checksum(y) != known
    y = x = rng.standard_normal(200_000)
    for i, j in rng.integers(0, 200_000, (20, 2)):
        y = x.copy()
        y[[i, j]] = y[[j, i]]
        assert i == j or checksums.checksum(y) != checksums.checksum(x)
    assert checksums.checksum("a") != checksums.checksum("b")
