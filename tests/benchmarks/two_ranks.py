"""What `ranks.py` runs on two ranks: each row as work, peer, our µs, the peer's µs and what is allowed, in JSON.

Both ranks run the same repetitions in turn; a time is the best of the slower rank's. The peers are mpi4py's own calls into
memory that is there already, in the same run.
"""

import json
import time

import numpy as np
from mpi4py import MPI

import polyad as pa

MIB = 1 << 20
REPEAT, SECONDS = 9, 0.1
raw = MPI.COMM_WORLD


def ratio(ours, theirs):
    """(our time, their time) per call in µs."""
    counts = []
    for function in (ours, theirs):
        function()
        raw.Barrier()
        start = time.perf_counter()
        function()
        counts.append(max(1, int(SECONDS / raw.allreduce(time.perf_counter() - start, MPI.MAX))))
    best = [float("inf")] * 2
    for _ in range(REPEAT):
        for k, function in enumerate((ours, theirs)):
            raw.Barrier()
            start = time.perf_counter()
            for _ in range(counts[k]):
                function()
            best[k] = min(best[k], raw.allreduce(time.perf_counter() - start, MPI.MAX) / counts[k] * 1e6)
    return best


def inside(body, x, times):
    """A call that runs the body in a map with one lane on each rank, so many times in one map."""

    def lane(x):
        for _ in range(times):
            y = body(x)
        return pa.ravel(y)[0]

    mapped, lanes = pa.pmap(lane, axis_name="i"), np.stack([x] * raw.size)
    return lambda: mapped(lanes)


def rows():
    world = pa.world()
    x = np.random.default_rng(0).standard_normal(8 * MIB // 8)
    y, z = np.empty_like(x), np.empty((raw.size, *x.shape))
    yield "allreduce, 8 MiB", "Allreduce", ratio(lambda: world.allreduce(x), lambda: raw.Allreduce(x, y)), 1.1
    yield "allgather, 8 MiB", "Allgather", ratio(lambda: world.allgather(x), lambda: raw.Allgather(x, z)), 1.5

    def one_copy(call, result, times=8):
        def run():
            for _ in range(times):
                call(x, result)
                result.copy()

        return run

    summed = inside(lambda x: pa.psum(x, "i"), x, 8)
    yield "8 psums in a map, 8 MiB a lane", "Allreduce, copy", ratio(summed, one_copy(raw.Allreduce, y)), 1.3
    gathered = inside(lambda x: pa.all_gather(x, "i"), x, 8)
    yield (
        "8 all_gathers in a map, 8 MiB a lane",
        "Allgather",
        ratio(gathered, lambda: [raw.Allgather(x, z) for _ in range(8)]),
        1.5,
    )
    tree = {str(k): x[512 * k : 512 * (k + 1)].copy() for k in range(200)}
    flat, total = x[: 512 * 200].copy(), lambda x: pa.psum(x, "i")
    yield "psum of 200 × 4 KiB in a map", "one buffer", ratio(mapped(total, tree), mapped(total, flat)), 1.2
    small = np.ones(raw.size)
    nothing, mean = pa.pmap(lambda x: x * 2), pa.pmap(lambda x: x / pa.psum(x, "i"), axis_name="i")
    four = lambda: [raw.Allreduce(small, np.empty(raw.size)) for _ in range(4)]
    yield "pmap, one psum", "4 Allreduces", ratio(lambda: mean(small), four), None
    yield "pmap, no collective", "4 Allreduces", ratio(lambda: nothing(small), four), None


def mapped(body, x):
    """A call of a map of the body whose results are the same in all lanes."""
    f = pa.pmap(body, axis_name="i", in_axes=None, out_axes=None, axis_size=raw.size)
    return lambda: f(x)


for work, peer, times, reach in rows():
    if raw.rank == 0:
        print(json.dumps([work, peer, *times, reach]), flush=True)
