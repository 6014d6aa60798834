"""Depths between those of the transformations, for what lies directly below the values of one of them: what a checkpoint keeps
(checkpointing/saved.py), and the passes within a rule (custom/call.py)."""

from contextvars import ContextVar
from math import ceil

# the keeping runs whose values are met here, outermost first
at_work: ContextVar[tuple] = ContextVar("polyad_keeping", default=())


def below_depth(depth):
    """A depth directly below another: above all whole ones that are, and above what checkpoints keep there."""
    return (depth + max([ceil(depth) - 1, *[run.depth for run in at_work.get() if run.depth < depth]])) / 2
