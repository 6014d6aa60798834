"""Find and start the MPI library, and refuse to run where the launcher and the library do not fit.

The wrong mpiexec, or a missing mpi4py, gives n worlds of one rank: each works on everything and exits with 0.
"""

import atexit
import faulthandler
import os
import subprocess
import sys

from .launched_process import is_child

START_SECONDS = 10  # a busy machine: 0.2 s (MPICH) and 1.3 s (Open MPI) were measured on a quiet one
_LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def launched_size():
    """(number of processes, variable) the launcher announced in the environment; (1, '') when there is none, or this is a
    child of one of these processes."""
    if is_child():
        return 1, ""
    names: list[str] = list(_LAUNCHERS)
    if "SLURM_PROCID" in os.environ and "SLURM_STEP_ID" in os.environ:  # else a batch script, not a started rank
        names.append("SLURM_NTASKS")
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text), name
    return 1, ""


def take_over_the_end():
    """Have this process end MPI from Python, unless the user has seen to that: mpi4py would end it in forked children, too,
    over their parent's connection, which ends the job. Called before MPI is loaded; else mpi4py keeps to its own way."""
    if "mpi4py.MPI" in sys.modules or "MPI4PY_RC_FINALIZE" in os.environ:
        return
    try:
        from mpi4py import rc
    except (ImportError, RuntimeError):
        return
    if rc.finalize is None:
        rc.finalize = False
        atexit.register(_end_mpi, os.getpid())


def _end_mpi(rank_process):
    MPI = sys.modules.get("mpi4py.MPI")
    if MPI is not None and os.getpid() == rank_process and MPI.Is_initialized() and not MPI.Is_finalized():
        MPI.Finalize()


def load_mpi(deadline):
    """(the module mpi4py.MPI, '') with MPI initialised, or (None, why not): also in a child of a rank, which is one process.

    Initialising waits for all launched processes. Where one does not come within `deadline` seconds and the time a
    start may take (it raised before), this process prints its traceback and exits with 1: nothing in Python can
    interrupt the wait.
    """
    if is_child():
        return None, "a child of a rank"
    take_over_the_end()
    guarded = launched_size()[0] > 1
    if guarded:
        faulthandler.dump_traceback_later(deadline + START_SECONDS, exit=True, file=2)
    try:
        return _wait_for_all_processes_to_start_mpi(), ""
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py is there, but no MPI library
        return None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
    finally:
        if guarded:
            faulthandler.cancel_dump_traceback_later()


def _wait_for_all_processes_to_start_mpi():  # the name is what the traceback at the deadline shows
    from mpi4py import MPI

    return MPI


def require_fitting_launch(size, library):
    """RuntimeError when the launcher announced more than one process and the world has one rank."""
    announced, variable = launched_size()
    if size > 1 or announced <= 1:
        return
    raise RuntimeError(
        f"the launcher started {announced} processes ({variable}={announced}), but this world has 1 rank "
        f"({library}): each process would work alone on everything. Install mpi4py and an MPI library into "
        f"{sys.prefix} (pip install mpi4py mpich) and start with the mpiexec that belongs to that library"
    )


def library_name(MPI):
    """For example 'MPICH 5.0.2'."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


def installed_library():
    """The MPI library that mpi4py would load, such as 'MPICH Version: 5.0.2 (mpi4py 4.1.2)', or None if there is none.

    Asked in a process of its own that does not start MPI: a process can start it only once, and may still want to.
    """
    ask = (
        "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
        "print(MPI.Get_library_version().partition(chr(10))[0].strip(chr(0)), '(mpi4py ' + mpi4py.__version__ + ')')"
    )
    try:
        answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return " ".join(answer.stdout.split()) or None if answer.returncode == 0 else None
