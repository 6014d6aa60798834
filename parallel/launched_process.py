"""Whether this process is a rank that the launcher started, or a child of one, which is one process.

A child inherits the launcher's variables, but not its place among the ranks: it would die in MPI's start, or wait there for
ever. So a rank leaves a mark in the environment when the package is imported: its process id, and which connection to
MPICH's launcher it has, by which a rank of another job, started from within this one, is no child.
"""

import os
import re

from .rank_process import MARK, connection

_imported_by = os.getpid()
_OF_ANOTHER_JOB = re.compile(
    r"PMI_|PMIX_(?!MCA_)|HYDI_|MPI_LOCAL|POLYAD_RUN|POLYAD_RANK_PROCESS|PRTE_(?!MCA_)|OMPI_(?!MCA_|ALLOW_)"
)
_OF_A_RANK = ("OMPI_MCA_num_procs", "OMPI_MCA_initial_wdir", "OMPI_MCA_cpu_type", "OMPI_MCA_PREFIXES")


def mark():
    """Note that this process is a rank, for its children, unless it is a child itself."""
    if not is_child():
        os.environ[MARK] = f"{os.getpid()} {connection()}"


def is_child():
    """Return whether this is a child process of a rank, forked or started."""
    its_own = connection()
    if os.getpid() != _imported_by or its_own == "closed":
        return True
    process, _, its = os.environ.get(MARK, "").partition(" ")
    return process not in ("", str(os.getpid())) and its == its_own


def without_a_job():
    """The variables of this process without what the launcher of a job has put there."""
    here = os.environ
    return {name: here[name] for name in here if not _OF_ANOTHER_JOB.match(name) and name not in _OF_A_RANK}
