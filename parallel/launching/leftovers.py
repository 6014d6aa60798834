"""What a job leaves behind where its ranks are killed: processes, and memory that they shared. Only what is this job's own.

The job's processes have its mark in their environment, and its shared memory is what those have been seen to map.
"""

import os
import re
import signal
from contextlib import suppress

_SEGMENT = re.compile(rb"/dev/shm/(?:mpich_shm_|sm_segment\.|vader_segment\.|osc_\w+\.)[^\s]*")


def processes(mark):
    """Ids of the processes that have `mark`, 'NAME=value', in their environment, where that can be seen (Linux)."""
    found, text = [], f"{mark}\0".encode()
    for pid in _listed("/proc"):
        if pid.isdigit() and int(pid) != os.getpid() and text in _read(f"/proc/{pid}/environ"):
            found.append(int(pid))
    return found


def segments(pids):
    """Paths of MPI's shared memory that these processes have mapped."""
    return {os.fsdecode(path) for pid in pids for path in _SEGMENT.findall(_read(f"/proc/{pid}/maps"))}


def remove(paths):
    """Delete shared memory that the ended ranks of this job had mapped."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def kill(pids):
    """End processes at once."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def send(pid, number):
    """Send a signal to a rank, and to its children where it leads a group of processes, as under most launchers it does."""
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if os.getpgid(pid) == pid else os.kill)(pid, number)


def is_gone(pid):
    """Return whether a process has ended, though it may not yet have been waited for."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in b"ZX"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return os.path.isdir("/proc/self")  # listed a moment ago and gone since


def exit_of(pid):
    """Say how a process has ended that nobody has waited for yet, such as 'SIGSEGV' or 'exit status 0'; '' if that is not to be
    seen."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[0] != b"Z":
        return ""
    status = os.waitstatus_to_exitcode(int(fields[-1]))
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _listed(folder):
    with suppress(OSError):
        return os.listdir(folder)
    return []


def _read(path):
    with suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""
