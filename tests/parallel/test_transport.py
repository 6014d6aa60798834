"""Every collective against NumPy on 1, 2 and 3 ranks, and without MPI."""

import pytest

from polyad.parallel import communicator
from polyad.parallel.communicator import Communicator
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
                   (lambda: w.allreduce(np.ones(2), "mean"), ValueError),
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


@pytest.mark.parametrize("n", [2, 3])
def test_pieces_give_what_whole_arrays_give(mpirun, n):
    """Messages of at most 24 bytes, which is less than many an array here, and more than others; no item is split."""
    mpirun("import polyad.parallel.pieces as pieces\npieces.PIECE = 24\n" + NUMERIC.replace("300_000", "300"), n)


def test_one_rank_without_mpi_gives_the_same(monkeypatch):
    monkeypatch.setattr(communicator, "_world", Communicator(OneProcess("one process, no MPI")))
    exec(compile(NUMERIC, "script.py", "exec"), {"__name__": "script"})
