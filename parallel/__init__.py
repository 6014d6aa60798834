"""Many devices: the ranks of an MPI job, the collectives between them, and functions mapped over all of them.

One process without MPI is the same semantics with one rank. `mpi4py` is loaded by the first call that needs the ranks.
"""

from . import early_abort
from .communicator import CollectiveError, CollectiveMismatch, CollectiveTimeout, Communicator, RankError, world
from .farm import farm, farm_iter
from .farm_outcomes import FarmError, WorkerDied
from .files import CheckpointError, load_checkpoint, read_array, save_checkpoint, write_array
from .launching.calls import launch
from .launching.errors import LaunchError
from .mesh import Mesh, make_mesh
from .pipeline import Schedule, pipeline, pipeline_schedule
from .messages.calls import Request, irecv, isend, recv, send, sendrecv
from .pmap import pmap
from .progress import progress
from .shard_map import shard_map
from .sharded import (
    PartitionSpec, Sharded, default_sharding, explain_sharding, gather, local, redistribute, shard, with_sharding_constraint,
)  # fmt: skip
from .timeline import timeline
from .training import data_parallel

__all__ = [
    "CheckpointError", "CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "Communicator", "FarmError",
    "LaunchError", "Mesh", "PartitionSpec", "RankError", "Request", "Schedule", "Sharded", "WorkerDied", "data_parallel",
    "default_sharding", "explain_sharding", "farm", "farm_iter", "gather", "irecv", "isend", "launch", "load_checkpoint",
    "local", "make_mesh", "pipeline", "pipeline_schedule", "pmap", "progress", "read_array", "recv", "redistribute",
    "save_checkpoint", "send", "sendrecv", "shard", "shard_map", "timeline", "with_sharding_constraint", "world",
    "write_array",
]  # fmt: skip

early_abort.install_early_abort()
