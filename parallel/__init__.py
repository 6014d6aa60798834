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
from .shard_map import shard_map
from .sharded import (
    PartitionSpec, Sharded, default_sharding, explain_sharding, gather, local, redistribute, shard, with_sharding_constraint,
)  # fmt: skip
from .timeline import timeline

__all__ = [
    "CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "Communicator", "FarmError", "LaunchError", "Mesh",
    "PartitionSpec", "RankError", "Sharded", "WorkerDied", "default_sharding", "explain_sharding", "farm", "farm_iter",
    "gather", "launch", "local", "make_mesh", "pmap", "redistribute", "shard", "shard_map", "timeline",
    "with_sharding_constraint", "world",
]  # fmt: skip

early_abort.install_early_abort()
