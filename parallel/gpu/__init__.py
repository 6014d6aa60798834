"""Arrays of other libraries in the collectives of ranks: those of GPUs go by the fastest way there is, others by the host."""

from .any_array import of_any_array

__all__ = ["of_any_array"]
