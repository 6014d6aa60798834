"""Arrays on a device between ranks, on a stand-in: by the host, by MPI that reads the device, and by NCCL; with what they are
handed waited for. What a stand-in cannot show is listed in devices/cuda_carriage.py."""

from pathlib import Path

import pytest

HELPERS = str(Path(__file__).parents[2] / "helpers")

SCRIPT = """
import os, sys
sys.path.insert(0, {helpers!r})
import numpy as np
import device_arrays
from device_arrays import DeviceArray
from polyad.parallel import CollectiveMismatch, world

way = {way!r}
os.environ["POLYAD_GPU_MPI"] = "1" if way == "MPI" else ("0" if way == "host" else "")
w = world()
rank, ranks = w.rank, w.size
library = device_arrays.install("one" if way == "shared" else f"bus {{rank}}", with_nccl=way in ("NCCL", "shared"))
way = "host" if way in ("shared", "tried") or ranks == 1 else way  # two ranks of one device have no NCCL
rng = np.random.default_rng(rank)
every = [np.random.default_rng(k) for k in range(ranks)]

def check(found, right, direct=()):
    # direct: what is done where the array goes as it lies, over MPI and over NCCL; nothing or None where it goes by the host
    assert type(found) is DeviceArray, type(found)
    np.testing.assert_allclose(found._values, right, rtol=1e-6, atol=0.1 if right.dtype == np.float16 else 1e-6)
    assert found.dtype == right.dtype and found.shape == right.shape, (found.dtype, right.dtype, found.shape, right.shape)
    told = dict(zip(("MPI", "NCCL"), direct)).get(way)
    assert (told or "pinned") in library.done and ("pinned" in library.done) == (told is None), (told, library.done)
    library.done.clear()

w.allreduce(library.asarray(np.ones(2)))  # which finds the way
library.done.clear()
for dtype in ("float64", "float32", "int64", "int8", "bool", "complex128", "float16"):
    for shape in ((), (5,), (2, 3), (0, 2), (2, 3, 4)):
        values = [np.asarray(r.normal(size=shape) * 4).astype(dtype) for r in every]
        x = library.asarray(values[rank])
        there = lambda name: ("synchronized", name) if x.size else ()
        kinds = {{"float64": there("allReduce"), "float32": there("allReduce"), "int64": there("allReduce"),
                 "complex128": there(None)}}  # what sums are of NumPy's dtype; NCCL has no complex ones
        check(w.allreduce(x), np.sum(values, axis=0), kinds.get(dtype, ()))
        check(w.allgather(x), np.stack(values), there("allGather"))
        check(w.bcast(x, ranks - 1), values[-1], there("bcast"))
        check(w.exchange(x, (rank - 1) % ranks, (rank + 1) % ranks), values[(rank - 1) % ranks])
        if dtype != "complex128":
            ordered = {{"int64": there("allReduce"), "int8": there(None)}}
            check(w.allreduce(x, "max"), np.max(values, axis=0), ordered.get(dtype, ()))
        if shape:
            check(w.allgatherv(x), np.concatenate(values))
        np.testing.assert_array_equal(x._values, values[rank])
x = np.full(3, np.nan if rank == 0 else 1.0)
check(w.allreduce(library.asarray(x), "max"), np.full(3, np.nan))  # which no library promises
rows = np.arange(6.0).reshape(2, 3) + rank
check(w.allreduce(DeviceArray(rows.T)), sum(np.arange(6.0).reshape(2, 3) + k for k in range(ranks)).T,
      ("synchronized", "allReduce"))
if ranks > 1:
    for bad in (lambda: w.allreduce(library.asarray(np.ones(2 + rank))), lambda: w.bcast(library.asarray(np.ones(2)), rank % 2),
                lambda: w.allreduce(library.asarray(np.ones(2)) if rank else np.ones(3))):
        try:
            bad()
        except CollectiveMismatch as error:
            assert "rank 0: " in str(error) and "rank 1: " in str(error), error
        else:
            raise AssertionError("no CollectiveMismatch")
for bad, kind in ((lambda: w.bcast(library.asarray(np.ones(2)), ranks), ValueError),
                  (lambda: w.allreduce(library.asarray(np.ones(2)), "mean"), ValueError)):
    try:
        bad()
    except kind:
        pass
    else:
        raise AssertionError(kind)
"""


@pytest.mark.parametrize(
    ("n", "way"), [(1, "host"), (2, "host"), (2, "tried"), (2, "MPI"), (3, "MPI"), (2, "NCCL"), (2, "shared")]
)
def test_each_way_gives_what_the_host_gives(mpirun, n, way):
    mpirun(SCRIPT.format(helpers=HELPERS, way=way), n)
