"""Sharded arrays: an array type whose arrays lie in blocks on the positions of a mesh, and the operations on it."""

from . import elementwise, meetings, products, reading, reductions, scans, shapes, whole_axes
from .array import Sharded, gather, local, redistribute, shard
from .partition_spec import PartitionSpec
from .placement import default_sharding, explain_sharding, with_sharding_constraint

__all__ = [
    "PartitionSpec", "Sharded", "default_sharding", "explain_sharding", "gather", "local", "redistribute", "shard",
    "with_sharding_constraint",
]  # fmt: skip
