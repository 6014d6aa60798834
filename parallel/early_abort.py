"""A rank that raises before it has started MPI ends the job too: its peers may already wait for it in MPI's start.

Installed by importing the package, and only in a process that a launcher started as one of several.
"""

import faulthandler
import os
import sys
import traceback

from .launched_process import mark
from .mpi_library import launched_size, take_over_the_end
from .rank_process import is_ours

PATIENCE = 5  # seconds that starting MPI, only to end the job, may take


def install_early_abort():
    """Take over sys.excepthook until `world()` is made, and MPI's end, if this process is one of several."""
    size, variable = launched_size()
    if variable:
        take_over_the_end()
    if size > 1:
        mark()
        if sys.excepthook is sys.__excepthook__:
            _state["pid"] = os.getpid()
            sys.excepthook = _uncaught


def uninstall():
    """Give sys.excepthook back, for the hooks of a started world."""
    if sys.excepthook is _uncaught:
        sys.excepthook = sys.__excepthook__


_state = {}


def _uncaught(kind, error, trace):
    if os.getpid() != _state["pid"]:
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))
    sys.stderr.flush()
    sys.stdout.flush()
    if is_ours() and "mpi4py.MPI" not in sys.modules:
        return  # `python -m polyad run` knows, and ends the others
    # no Python thread runs while MPI starts, and it waits for ever where a peer never starts it
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115  ends with the process
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        return
    MPI.COMM_WORLD.Abort(1)
