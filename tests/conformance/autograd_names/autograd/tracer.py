"""Followed values, and functions with rules of their own."""

import polyad as pa

from .extend import primitive


def isbox(x):
    """Whether x is followed by a transformation."""
    return isinstance(x, pa.Layer)


def getval(x):
    """The plain value of x."""
    return x.concrete() if isbox(x) else x
