"""Reverse mode: values that record, per operation, how a cotangent goes back.

The record (tape) is a list of nodes `(vjp, xs, y, parent)`, or `(vjps, xs, y, parents)` where several arguments are followed:
the function of the cotangent, and the place of the argument's own node. In place of the tuple of functions may stand an object
that hands the cotangent on by itself (nodes.py). Values are unwrapped on it: the walk back over it (walk.py) can be
differentiated and traced itself.
"""

from functools import partial
from typing import Any

from numpy import float64, ndarray

from ...dispatch import Layer, Run, settled, several, snapshot, watchers
from ...dsl.avals import dtype_of
from ...dsl.layers.splitting import concrete
from ...dsl.mutation_checks import watching
from ..rules.from_cards import constant
from .mutation_checks import watched
from .nodes import PART
from .provenance import noting, watched_walk
from .roots import same_node
from .walk import walk

PLAIN_TYPES = frozenset((float64, ndarray))


class Reverse(Layer):
    """A value and the place of its node on the tape; `Reverse[d]` belongs to a reverse transformation of depth d."""

    __slots__ = ("index", "run", "value")
    holds, only_arrays = "value", True
    follows = True
    sees_inner = True

    def __init__(self, value, run, index):
        self.value = value
        self.run = run
        self.index = index

    def concrete(self):
        return concrete(self.value)

    def made_as(self, other, alike):
        return same_node(self.run.tape, self.index, other.index, alike) and alike(self.value, other.value)

    target: Any = None  # classmethod(generic, types), put here by targets.py, which is built on this page


def several_values(cls, r, y, followed=None, keep=lambda part: part):
    """The results of the operation recorded last, of which there are several: each has a node that hands its cotangent to the
    operation's own.

    followed: whether each is, None: those of floating numbers. keep: what its node keeps of one.
    """
    main, values = len(r.tape) - 1, []
    for j, part in enumerate(y):
        if followed[j] if followed is not None else dtype_of(part).kind in "fc":
            r.append((PART, (j, len(y)), keep(part), (main,)))
            part = cls(part, r, len(r.tape) - 1)
        values.append(part)
    return several(y, values)


def refuse(name, place, node):
    """Refuse a node for a run that has ended: its `append` from then on, which knows its place, not the tape. A stored method
    of the run would make a cycle, and the tape's arrays would wait for the garbage collector."""
    ended = Run.__new__(Run)
    ended.name, ended.place = name, place
    raise ended.leaked()


class ReverseRun(Run):
    """One execution of a reverse transformation: its tape."""

    __slots__ = ("append", "origins", "required", "tangents", "tape")
    kind = Reverse  # of its values

    def __init__(self, name):
        super().__init__(name)
        self.tape: Any = []  # of nodes
        self.tangents = False  # whether those alone are asked for, of the inputs' cotangents
        self.append = watched(self.tape) if watching.get() else self.tape.append
        self.origins = None  # place on the tape -> where the node comes from, while calls are watched
        if watchers:
            self.origins, self.append = noting(self.tape, self.append)
        self.required = []  # nodes that must be walked even with a zero cotangent: collectives across processes

    def close(self):
        self.closed = True
        self.append = partial(refuse, self.name, self.place)

    def input(self, value):
        """Follow a value from here."""
        self.append(None)
        cls = self.kind.classes.get(self.depth) or self.kind[self.depth]  # hot: the first is a tenth of the second
        return cls(snapshot(value), self, len(self.tape) - 1)

    def inputs(self, values):
        """Those of some values that have derivatives, followed from here; the others as they are."""
        cls = self.kind.classes.get(self.depth) or self.kind[self.depth]
        append, tape, seen = self.append, self.tape, []
        for x in values:
            if (x.dtype if type(x) is ndarray else dtype_of(x)).kind in "fc":
                append(None)
                x = cls(x if type(x) is ndarray else snapshot(x), self, len(tape) - 1)
            seen.append(x)
        return seen

    def constant(self, value):
        """A value without parents."""
        if dtype_of(value).kind not in "fc":
            return super().constant(value)
        self.append(((), (), value, ()))
        return self.kind[self.depth](snapshot(value), self, len(self.tape) - 1)

    def unwrap(self, x):
        """(value, place on the tape or None) of a result of the function."""
        if type(x) is not self.kind.classes.get(self.depth):
            x = settled(x)
            if type(x) is not self.kind.classes.get(self.depth):
                return constant(x), None
        if x.run is not self:
            raise self.foreign(x.run)
        value = x.value
        return value if type(value) in PLAIN_TYPES else snapshot(value), x.index

    def walk_back(self, seeds, inputs):
        """Cotangents of the inputs, from those of results; None where an input has none.

        seeds: pairs (place, cotangent). inputs: how many were followed; they are the first nodes.
        """
        return watched_walk(self, seeds, inputs) if watchers else walk(self, self.tape, seeds, inputs)
