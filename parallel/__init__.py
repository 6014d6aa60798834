"""Many devices: the ranks of an MPI job, the collectives between them, and functions mapped over all of them.

One process without MPI is the same semantics with one rank. `mpi4py` is loaded by the first call that needs the ranks.
"""

from . import early_abort
from .communicator import CollectiveError, CollectiveMismatch, CollectiveTimeout, Communicator, RankError, world
from .pmap import pmap

__all__ = ["CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "Communicator", "RankError", "pmap", "world"]

early_abort.install_early_abort()
