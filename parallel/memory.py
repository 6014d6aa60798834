"""Freed memory stays with a rank: results of collectives are large, fresh arrays, and so are the buffers of the MPI library.

glibc gives a freed array of megabytes back to the system, and each page of the next one is a fault: half the time of a sum of
8 MiB over two ranks.
"""

import ctypes
import os

REUSED = 64 << 20  # bytes of an array whose memory is kept for the next one; larger ones are mapped and unmapped
FREED = 256 << 20  # bytes of freed memory that a rank keeps at most
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>
_CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory():
    """Have glibc keep what is freed; return whether it does. Another C library, and a user's own choice in the environment
    (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), are left alone."""
    if any(name in os.environ for name in _CHOSEN):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, REUSED) and mallopt(_M_TRIM_THRESHOLD, FREED))
