"""Many devices: the ranks of an MPI job, the collectives between them, and functions mapped over all of them.

One process without MPI is the same semantics with one rank. `mpi4py` is loaded by the first call that needs the ranks.
"""

from . import early_abort
from .communicator import CollectiveError, CollectiveMismatch, CollectiveTimeout, Communicator, RankError, world
from .farm import farm, farm_iter
from .farm_outcomes import FarmError, WorkerDied
from .launching.calls import launch
from .launching.errors import LaunchError
from .mesh import Mesh, make_mesh
from .pmap import pmap
from .shard_map import PartitionSpec, shard_map
from .timeline import timeline

__all__ = [
    "CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "Communicator", "FarmError", "LaunchError", "Mesh",
    "PartitionSpec", "RankError", "WorkerDied", "farm", "farm_iter", "launch", "make_mesh", "pmap", "shard_map",
    "timeline",
    "world",
]  # fmt: skip

early_abort.install_early_abort()
