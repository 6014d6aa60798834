"""Loops that threads share: the same results whatever their number, from several callers at once, and in a fork's child."""

import os
import subprocess
import sys

import pytest

from polyad.devices.codegen.text import threads
from polyad.devices.compilers import compiler_version, find_compiler, flag_sets

pytestmark = pytest.mark.optimized

PROGRAM = """
import hashlib, os, threading
import numpy as np
import polyad as pa
from polyad.devices.codegen.loops import groups

groups.PARALLEL = 1000  # small arrays are shared, too
x = np.random.default_rng(0).normal(size=(301, 157))
functions = [
    lambda x: pa.exp(pa.sin(x)) + pa.sum(x), lambda x: pa.softmax(x, axis=1), lambda x: pa.sum(pa.tanh(x) * x),
    lambda x: pa.var(x, axis=0), lambda x: pa.cumsum(x, axis=1), pa.grad(lambda x: pa.sum(pa.logsumexp(x * x, axis=0))),
]
jitted = [pa.jit(f) for f in functions]
results = [j(x) for j in jitted]
for y, f in zip(results, functions):
    np.testing.assert_allclose(y, f(x), rtol=1e-10, atol=1e-10)
wrong = []

def call(k):
    for i in range(60):
        n = (i + k) % len(jitted)
        if not np.array_equal(jitted[n](x), results[n]):
            wrong.append(n)

callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
for thread in callers:
    thread.start()
codes = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(7 if all(np.array_equal(j(x), y) for j, y in zip(jitted, results)) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for thread in callers:
    thread.join()
print(wrong, codes, hashlib.sha256(b"".join(np.asarray(y).tobytes() for y in results)).hexdigest())
"""


def said(count):
    environment = {**os.environ, "OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run([sys.executable, "-P", "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=200)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_any_number_of_threads():
    first = said(1)
    assert first.startswith("[] [7, 7, 7] ")
    assert said(2) == said(5) == first  # to the last bit


@pytest.mark.parametrize(
    ("text", "count"), [("3", 3), ("2,4", 2), (" 5 ", 5), ("100000", threads.MOST), ("0", None), ("many", None), ("", None)]
)
def test_wanted(text, count, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads.wanted() == (count or len(os.sched_getaffinity(0)))


def test_gcc_calls_the_pool():
    words = find_compiler()
    if words is None or "clang" in compiler_version(words) or "ziglang" in words:
        pytest.skip("another compiler, whose threads are OpenMP's")
    assert "-DPOOL" in flag_sets(words)[0]
    code = (
        "import numpy as np, polyad as pa; from polyad.devices.codegen.loops import groups; groups.PARALLEL = 10; "
        "from polyad.devices.codegen.toolchain import library; "
        "pa.jit(lambda x: pa.sin(x) * 2)(np.ones(1000)); print(len(library._openmp), library._functions.cache_info().currsize)"
    )
    answer = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=100)
    assert answer.stdout.split() == ["0", "1"], answer.stderr
