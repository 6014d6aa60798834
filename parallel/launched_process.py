"""Whether this process is a rank that the launcher started, or a child of one, which is one process.

A child inherits the launcher's variables, but not its place among the ranks: it would die in MPI's start, or wait there for
ever. So a rank leaves a mark in the environment when the package is imported: its process id, and which connection to
MPICH's launcher it has, by which a rank of another job, started from within this one, is no child.
"""

import os

from .rank_process import MARK, connection

_imported_by = os.getpid()


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
