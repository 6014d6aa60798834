"""Arrays that a function reads from outside, and what Python and NumPy make of them while it is traced.

Where such an array meets a value of the trace it is an input of the program, looked up at each call. What is computed of it
alone (`w * 2`, `float(w.mean())`) is done by NumPy during the trace, and becomes constants or decides a branch. So the contents
of these arrays are compared with those at the trace, at each call, unless it is certain that nothing else was made of them
(see `steering`). When they have changed, the function is traced anew, and if that gives anything else, the new tree takes the
place of the old one.
"""

import numpy as np

from ...dispatch import isa
from ..ir.programs import Var
from .run import equal_params, same_numbers

PATIENCE, OFTEN = 8, 4  # more changes than that, if there was one in so many calls, and the function runs eagerly
WARN_BYTES = 1 << 24  # bytes of an array, from which on it is said that it is compared
CHUNK = 1 << 18  # bytes that are compared at once: as many as stay in a processor's cache


class Watch:
    """The arrays from outside as they were when a tree was begun. needed: the numbers of those whose contents matter; changes:
    how often there were others. Copies are kept and not sums: to compare memory is faster than any sum of it, and sure."""

    def __init__(self, arrays):
        self.needed, self.changes = range(len(arrays)), 0
        self.seen = [copied(x) if isa(x, np.ndarray) else None for x in arrays]

    def unchanged(self, arrays):
        """Return whether they are as they were, so far as that matters."""
        return not self.needed or self.changed(arrays, self.needed) is None

    def changed(self, arrays, those=None):
        """The number of the first of those arrays that is not as it was, None if all are."""
        for i in range(len(arrays)) if those is None else those:
            if self.seen[i] is not None and not same_contents(arrays[i], self.seen[i]):
                return i
        return None


def copied(x):
    """The contents of an array, in parts."""
    x = x.view(np.ndarray)
    if x.nbytes <= CHUNK or not x.flags.forc:
        return [x.tobytes("A")]
    memory = bytes_of(x)
    return [bytes(memory[i : i + CHUNK]) for i in range(0, x.nbytes, CHUNK)]


def same_contents(x, seen):
    """Return whether an array has the contents that `copied` gave."""
    x = x if type(x) is np.ndarray else x.view(np.ndarray)
    if len(seen) == 1:
        return x.tobytes("A") == seen[0]
    memory = bytes_of(x)
    return all([bytes(memory[i * CHUNK : (i + 1) * CHUNK]) == part for i, part in enumerate(seen)])


def bytes_of(x):
    return memoryview(x.ravel("K").view(np.uint8))


# ---------------------------------------------------------------------- comparing
def alike(old, new):
    """Return whether a tree is, along its paths, a part of an older one."""
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
