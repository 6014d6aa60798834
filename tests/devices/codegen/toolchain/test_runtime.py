"""The library that serves all programs: its threads are as many as the environment says."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.optimized

THREADS = """
import numpy as np, polyad as pa
x = np.ones((1500, 1500))
run = pa.compile_program(pa.make_ir(lambda x: pa.exp(pa.sin(pa.tanh(x))))(x), pa.devices.Device("cpu"))
run(x)
print(open("/proc/self/status").read().split("Threads:")[1].split()[0])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="threads are counted in /proc")
@pytest.mark.parametrize("count", [1, 3])
def test_the_number_of_threads_is_the_environments(tmp_path, count):
    environment = {**os.environ, "OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": "1"}
    environment["POLYAD_CACHE_DIR"] = str(tmp_path)
    answer = subprocess.run([sys.executable, "-P", "-c", THREADS], env=environment, capture_output=True, timeout=200)
    assert answer.stdout.strip() == str(count).encode(), answer.stderr.decode()
