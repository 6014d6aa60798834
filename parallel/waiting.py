"""Wait for a non-blocking MPI request, with a limit in seconds.

A blocking MPI call cannot be given up: a rank whose peer never comes would hang for ever and say nothing.
"""

import os
import time

SPINS = 20  # pure polling: what a small message between two running ranks needs
YIELD_SECONDS = 0.02  # polling that lets other ranks of the same core run: without it 4 ranks on 2 cores take 9 ms
SHARE = 0.02  # of the time waited so far, slept between looks: afterwards the peer is computing, which needs the core more
LONGEST_SLEEP = 2e-3  # seconds

_yield_core = getattr(os, "sched_yield", lambda: time.sleep(0))


def wait(request, seconds):
    """Return True once `request` is complete, False if it is not within `seconds` (None: no limit)."""
    test = request.Test
    for _ in range(SPINS):
        if test():
            return True
    start = time.monotonic()
    elapsed = 0.0
    while not test():
        elapsed = time.monotonic() - start
        if seconds is not None and elapsed > seconds:
            return False
        if elapsed < YIELD_SECONDS:
            _yield_core()
        else:
            time.sleep(min(SHARE * elapsed, LONGEST_SLEEP))
    return True
