"""Containers: under polyad a function sees Python's own lists, tuples and dicts, with followed values as their leaves."""

import builtins
from builtins import dict, list, tuple, type  # noqa: UP029

from .tracer import getval


def isinstance(x, kinds):
    """Whether the value that x stands for is of these types."""
    return builtins.isinstance(getval(x), kinds)
