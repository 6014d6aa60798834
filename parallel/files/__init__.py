"""Files that all ranks read and write together: arrays, each rank its own part, and checkpoints."""

from .arrays import read_array, write_array
from .checkpoint import CheckpointError, load_checkpoint, save_checkpoint

__all__ = ["CheckpointError", "load_checkpoint", "read_array", "save_checkpoint", "write_array"]
