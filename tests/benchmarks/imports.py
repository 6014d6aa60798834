"""Start-up: the time of `import polyad` in a new process against `import jax`, and what must not come with it."""

import importlib.util
import os
import subprocess
import sys
import time

HEAVY = ("cupy", "mpi4py", "scipy", "matplotlib", "pandas")


def import_time(module, repeat=5):
    """Seconds a new process needs to import a module, less those of an empty process; minimum of several."""

    # with compiled modules kept, as an installation keeps them
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(code):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=kept)
        return time.perf_counter() - start

    run(f"import {module}")  # fill the disk cache
    return min(run(f"import {module}") for _ in range(repeat)) - min(run("pass") for _ in range(repeat))


def loaded_with_polyad():
    """Those of the heavy libraries that `import polyad` brings along (there should be none)."""
    code = f"import polyad, sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def rows():
    ours = import_time("polyad")
    peer = "jax" if importlib.util.find_spec("jax") else "numpy"
    theirs = import_time(peer)
    reach = min(1.0, 0.5 / theirs) if peer == "jax" else 0.5 / theirs
    yield f"import polyad ({ours:.2f} s, at most 0.5)", f"import {peer}", (ours * 1e6, theirs * 1e6), reach
    extra = loaded_with_polyad()
    print(f"heavy libraries loaded by import polyad: {', '.join(extra) or 'none'}")
