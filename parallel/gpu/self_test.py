"""Whether the MPI library reads the memory of devices: a few numbers sent to oneself, in a process of its own.

A library that does not would take the address for one of the host's and end the process, so the rank itself must not try.
"""

import functools
import os
import subprocess
import sys

from ..launched_process import without_a_job

SECONDS = 60
_EXCHANGE = """
from mpi4py import MPI
def exchange(x, y):
    MPI.COMM_SELF.Sendrecv(x, 0, recvbuf=y, source=0)
"""


@functools.cache
def reads_devices(carriage):
    """Return whether MPI takes arrays of this carriage. POLYAD_GPU_MPI=0 or 1 says so without a test."""
    said = os.environ.get("POLYAD_GPU_MPI", "")
    if said in ("0", "1"):
        return said == "1"
    command = [sys.executable, "-c", _EXCHANGE + carriage.test]
    try:
        return subprocess.run(command, env=without_a_job(), capture_output=True, timeout=SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
