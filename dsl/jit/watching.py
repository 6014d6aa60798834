"""Arrays that a function reads from outside, and what Python and NumPy make of them while it is traced.

Where such an array meets a value of the trace it is an input of the program, looked up at each call. What is computed of it
alone (`w * 2`, `float(w.mean())`) is done by NumPy during the trace and becomes constants. So when such an array has
changed, the function is traced anew, and if that gives anything else, the new tree takes the place of the old one; after a
few changes that made no difference the array is taken to matter by reference only.
"""

import weakref
import zlib

import numpy as np

from ..ir import Var
from .run import equal_params, same_numbers

CHECKS = 2  # changes without a difference after which an array is not watched any more
PATIENCE = 8  # trees that were replaced, after which the function runs eagerly
LARGE, SMALL = 1 << 20, 1 << 12  # bytes up to which contents are compared, of arrays that no program takes, and of others


class Watch:
    """The arrays from outside as they were when a tree was begun. left: changes that are to be looked at."""

    def __init__(self, tree, arrays):
        self.left = CHECKS if all([type(x) is np.ndarray for x in arrays]) else 0
        self.seen = [weakref.ref(x) for x in arrays] if self.left else []
        self.sums = [_sum(x) if x.nbytes <= _limit(tree, i) else None for i, x in enumerate(arrays)] if self.left else []

    def unchanged(self, arrays):
        """Whether they are as they were."""
        for x, seen, checksum in zip(arrays, self.seen, self.sums, strict=False):
            if seen() is not x or checksum is not None and _sum(x) != checksum:
                return False
        return True


def _limit(tree, i):
    if i not in [place for place, unused in tree.places.values()]:
        return LARGE
    return SMALL if tree.constants else -1


def _sum(x):
    return zlib.crc32(np.ascontiguousarray(x).data) if x.size else 0


# ---------------------------------------------------------------------- comparing
def alike(old, new):
    """Whether a tree is, along its paths, a part of an older one."""
    return old.root is not None and new.root is not None and _Comparison(old, new).segments(old.root, new.root)


class _Comparison:
    def __init__(self, old, new):
        self.old, self.new = old, new
        self.known = {v: w for v, w in zip(old.inputs, new.inputs, strict=True) if v is not None}

    def segments(self, s, t):
        if len(s.equations) != len(t.equations) or not all(
            [self.steps(d, e) for d, e in zip(s.equations, t.equations, strict=True)]
        ):
            return False
        (how, what), (other, that) = s.question, t.question
        if how != other:
            return False
        if how == "answer":
            same = self.values(what, that)
        elif how == "raises":
            same = self.steps(what, that)
        else:
            same = s.out == t.out and all([self.results(v, w) for v, w in zip(what, that, strict=True)])
        return same and all([k in s.children and self.segments(s.children[k], c) for k, c in t.children.items()])

    def steps(self, d, e):
        same = d.op is e.op and len(d.inputs) == len(e.inputs) and equal_params(d.params, e.params)
        if not same or not all([self.values(v, w) for v, w in zip(d.inputs, e.inputs, strict=True)]):
            return False
        self.known.update(zip(d.outputs, e.outputs, strict=True))
        return True

    def values(self, v, w):
        if not isinstance(v, Var) or not isinstance(w, Var):
            return type(v) is type(w) and (v == w or v != v)
        if v in self.known:
            return self.known[v] is w
        if v in self.old.places:
            same = w in self.new.places and self.old.places[v] == self.new.places[w]
        else:
            x, y = self.old.constants.get(v), self.new.constants.get(w)
            same = x is not None and type(x) is type(y) and same_numbers(x, y)
        self.known[v] = w
        return same

    def results(self, v, w):
        if isinstance(v, Var) or isinstance(w, Var):
            return isinstance(v, Var) and isinstance(w, Var) and self.values(v, w)
        x, y = v.value, w.value
        return same_numbers(x, y) if type(x) is type(y) is np.ndarray else x is y or type(x) is type(y) and bool(np.all(x == y))
