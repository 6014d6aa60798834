"""The leaves of what a jitted function returns."""

import numpy as np

from ...dispatch import Layer, isa
from ..ir.programs import Var


class Fixed:
    """A result that is no value of the trace."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Fresh(Fixed):
    """An array that is the same at each call, but a new one."""

    __slots__ = ()


def result(v, env, kind=None):
    """A leaf of the result. v: its Var, or `Fixed`; kind: the type of the Python number that it is, or None."""
    if isinstance(v, Var):
        y = env[v]
        if kind is not None:
            return y if isinstance(y, Layer) else kind(y)
        return y[()] if type(y) is np.ndarray and not y.shape else y
    return v.value.copy() if type(v) is Fresh else v.value


class Results:
    """The leaves of the results of a call, none of which shares memory with what the call was given. tree: its `Tree`."""

    def __init__(self, tree, env):
        self.env, self.donated, self.known = env, tree.donated, {}
        self.given = {v for v in tree.inputs if v is not None}.union(tree.places, tree.constants).difference(tree.donated)

    def of(self, v, kind=None):
        """A leaf; see `result`. What is the same value is the same object."""
        y = result(v, self.env, kind)
        if not isa(y, np.ndarray) or type(v) is Fresh:
            return y
        if v not in self.known:
            self.known[v] = y.copy() if v in self.given or y.base is not None and self._shares(y) else y
        return self.known[v]

    def _shares(self, y):
        given = [self.env.get(v) for v in self.given]
        return any([np.may_share_memory(x, y) for x in given if isa(x, np.ndarray)])
