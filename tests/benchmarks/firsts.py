"""First calls under `jit` against JAX's jit: with nothing compiled before, and with compiled code on the disk.

Each is timed in new processes, the minimum of several: a process compiles another program with both, whose modules are then
loaded, and calls each one of `programs.work` for the first time.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCESSES = 3
ROWS = 8  # first calls with an empty cache are to be no slower in so many rows
CODE = "import sys; sys.path.insert(0, sys.argv[1]); import firsts; firsts.report()"


def first(ours, theirs, args):
    """(our time, JAX's time) in µs of the first call."""
    import jax
    import jax.numpy as jnp

    import polyad as pa

    given = jax.tree.map(jnp.asarray, args)
    times = []
    for call in (lambda: pa.jit(ours)(*args), lambda: jax.block_until_ready(jax.jit(theirs)(*given))):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return tuple(times)


def report():
    """Print the times of all programs as JSON."""
    import numpy as np
    from programs import work

    first(lambda x: x * 2, lambda x: x * 2, (np.arange(2.0),))
    print(json.dumps([(name, *first(ours, theirs, args)) for name, ours, theirs, args, _ in work()]))


def times(directory):
    """[(name, our time, JAX's time)] in a new process that keeps compiled code in this directory."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    answer = subprocess.run(
        [sys.executable, "-P", "-c", CODE, str(Path(__file__).parent)], check=True, text=True, capture_output=True,
        env={**kept, "POLYAD_CACHE_DIR": str(directory), "PYTHONPYCACHEPREFIX": str(Path(directory) / "python")},
    )  # fmt: skip
    return json.loads(answer.stdout)


def best(runs):
    """The smallest times of each program."""
    return [(rows[0][0], min(r[1] for r in rows), min(r[2] for r in rows)) for rows in zip(*runs, strict=True)]


def rows():
    import programs  # noqa: F401  (who lacks JAX is told so here)

    with tempfile.TemporaryDirectory() as folder:
        times(folder)  # Python's own compiled files
        found = best([times(folder) for _ in range(PROCESSES)])
        empty = []
        for _ in range(PROCESSES):
            for path in Path(folder).glob("*.so"):
                path.unlink()
            empty.append(times(folder))
    slower = 0
    for name, ours, theirs in best(empty):
        slower += ours > theirs
        yield f"first call: {name}", "jax.jit", (ours, theirs), None
    yield f"first calls, rows that are slower, of {len(found)}", "at most", (slower, len(found) - ROWS), 1
    for name, ours, theirs in found:
        yield f"again from disk: {name}", "jax.jit", (ours, theirs), 1 / 3
