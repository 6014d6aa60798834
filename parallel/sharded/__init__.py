"""Sharded arrays: an array type whose arrays lie in blocks on the positions of a mesh, and the operations on it."""

from . import elementwise, products, reading, reductions, scans, shapes, whole_axes
from .array import Sharded, gather, local, redistribute, shard
from .partition_spec import PartitionSpec

__all__ = ["PartitionSpec", "Sharded", "gather", "local", "redistribute", "shard"]
