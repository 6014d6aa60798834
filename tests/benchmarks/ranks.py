"""Ranks: collectives on two ranks against mpi4py's own calls, and the software of one rank among a hundred thousand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from timing import ratio

import polyad as pa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))
MPIEXEC = Path(sys.executable).with_name("mpiexec")
LIMIT = 3000.0  # µs of one rank's software for a map with one sum, among MANY ranks
MANY = 100_000


def among_many():
    """A map with one sum on one of MANY ranks, whose messages are answered at once."""
    from many_ranks import many_ranks

    module, (comm, _) = sys.modules["polyad.parallel.pmap"], many_ranks(MANY)
    world, module.world = module.world, lambda: comm
    try:
        x, f = np.ones(MANY), pa.pmap(lambda x: x / pa.psum(x, "i"), axis_name="i")
        yield "pmap, one psum, rank 0 of 100 000", "allowed", (ratio(lambda: f(x), lambda: None)[0], LIMIT), 1.0
    finally:
        module.world = world


def rows():
    yield from among_many()
    if not MPIEXEC.exists():
        print(f"ranks: no {MPIEXEC}, the collectives of two ranks are left out")
        return
    command = [MPIEXEC, "-n", "2", sys.executable, "-P", HERE / "two_ranks.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        raise RuntimeError(done.stderr)
    for line in done.stdout.splitlines():
        work, peer, ours, theirs, reach = json.loads(line)
        yield work, peer, (ours, theirs), reach
