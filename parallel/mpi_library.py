"""Find and start the MPI library, and refuse to run where the launcher and the library do not fit.

The wrong mpiexec, or a missing mpi4py, gives n worlds of one rank: each works on everything and exits with 0.
"""

import atexit
import faulthandler
import os
import subprocess
import sys
from typing import Any, NamedTuple

from .launched_process import connection, is_child
from .rank_process import tell

START_SECONDS = 10  # a busy machine: 0.2 s (MPICH) and 1.3 s (Open MPI) were measured on a quiet one
_LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def launched_size():
    """(number of processes, variable) the launcher announced in the environment; (1, '') when there is none, or this is a
    child of one of these processes."""
    if is_child():
        return 1, ""
    names: list[str] = list(_LAUNCHERS)
    if "SLURM_PROCID" in os.environ:  # of srun: of this step, as a shell inside of `salloc -n 4` is a step of one process
        names.append("SLURM_STEP_NUM_TASKS")
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
    try:
        MPI: Any = _import_without_start()
        if MPI.Is_initialized():
            return MPI, ""
        misfit = misfit_of_launcher(MPI.Get_library_version())
        if misfit and launched_size()[0] == 1 and launched_size()[1]:
            return None, misfit
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py is there, but no MPI library
        return None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
    if misfit:
        raise RuntimeError(misfit)
    if guarded:
        faulthandler.dump_traceback_later(deadline + START_SECONDS, exit=True, file=2)
    tell("mpi", "starting")
    try:
        _wait_for_all_processes_to_start_mpi(MPI)
    finally:
        if guarded:
            faulthandler.cancel_dump_traceback_later()
    tell("mpi", "started")
    return MPI, ""


def _import_without_start():
    """mpi4py.MPI, in which the library can be asked for its version; started only where the program has done so."""
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        wanted, mpi4py.rc.initialize = mpi4py.rc.initialize, False
        try:
            from mpi4py import MPI
        finally:
            mpi4py.rc.initialize = wanted
    from mpi4py import MPI

    return MPI


def _wait_for_all_processes_to_start_mpi(MPI):  # the name is what the traceback at the deadline shows
    from mpi4py import rc

    if rc.threads:
        MPI.Init_thread(getattr(MPI, f"THREAD_{rc.thread_level.upper()}"))
    else:
        MPI.Init()


def misfit_of_launcher(version):
    """Say why processes of this launcher cannot find one another by the library with this version, '' if they may: what is
    known before MPI is started, which would end the process (MPICH) or make each a world of its own (Open MPI)."""
    library = version.partition(chr(10))[0].partition(",")[0].strip(chr(0))
    theirs = next((name for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK") if name in os.environ), "")
    if "Open MPI" in version:
        variable, launcher = "PMI_FD" if connection() and launched_size()[0] > 1 else "", "the mpiexec of MPICH"
    else:
        variable = theirs if not connection() and "pmix" not in version.lower() else ""
        launcher = "a launcher that speaks PMIx, as that of Open MPI does"
    if not variable:
        return ""
    return (
        f"this process was started by {launcher} ({variable} is set), but mpi4py loads another MPI library, "
        f"{' '.join(library.split())}: start with the mpiexec that belongs to the library, which `python -m polyad run` finds"
    )


def require_fitting_launch(size, library):
    """RuntimeError when the launcher announced more than one process and the world has one rank."""
    announced, variable = launched_size()
    if size > 1 or announced <= 1:
        return
    raise RuntimeError(
        f"the launcher started {announced} processes ({variable}={announced}), but this world has 1 rank "
        f"({library}): each process would work alone on everything. Install mpi4py and an MPI library into "
        f"{sys.prefix} (pip install mpi4py mpich) and start with the mpiexec that belongs to that library, which "
        "`python -m polyad run` finds"
    )


def library_name(MPI):
    """For example 'MPICH 5.0.2'."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


class Library(NamedTuple):
    """An MPI library: its own words on its version, the file it was loaded from ('' if that is not known), mpi4py's version."""

    version: str
    path: str
    mpi4py: str

    @property
    def name(self):
        """The first words of its version, such as 'MPICH Version: 5.0.2'."""
        return " ".join(self.version.partition("\n")[0].partition(",")[0].split())


_ASK = """
import re, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
path = ""
try:
    with open("/proc/self/maps") as maps:
        path = (re.findall(r"(/\\S*/libmpi(?:ch)?(?:_\\w+)?\\.so\\S*)", maps.read()) or [""])[0]
except OSError:
    pass
print(path, mpi4py.__version__, MPI.Get_library_version().strip(chr(0)), sep=chr(10))
"""


def ask_library():
    """The Library that mpi4py would load, or None if there is none.

    Asked in a process of its own that does not start MPI: a process can start it only once, and may still want to.
    """
    try:
        answer = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    path, version, said = [*answer.stdout.split("\n", 2), "", ""][:3]
    return Library(said.strip(), path, version) if answer.returncode == 0 else None


def installed_library():
    """The MPI library that mpi4py would load, such as 'MPICH Version: 5.0.2 (mpi4py 4.1.2)', or None if there is none."""
    library = ask_library()
    return None if library is None else f"{library.name} (mpi4py {library.mpi4py})"
