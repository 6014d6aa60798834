"""Training on several ranks, each with its own part of the examples."""

from .data_parallel import data_parallel

__all__ = ["data_parallel"]
