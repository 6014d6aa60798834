"""What variables record: nodes that hold their parents, so that a record lives as long as the results that need it."""

import itertools
import threading
import weakref
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...dispatch import MutationError, StructureError
from ...dispatch.callers import caller
from ...dsl.avals import dtype_of, shape_of
from ...dsl.mutation_checks import watching
from ..reverse.mutation_checks import watched
from ..reverse.nodes import PART
from ..reverse.tape import ReverseRun

recording = ContextVar("polyad_variables_recorded", default=True)
_numbers = itertools.count()


class Node:
    """One step of a record, holding its parents. entry: as on a tape; number: larger than those of its parents."""

    __slots__ = ("__weakref__", "entry", "number", "required")

    def __init__(self, entry):
        self.entry, self.number, self.required = entry, next(_numbers), False


class Leaf(Node):
    """A variable's own node: its value, and its gradient or None."""

    __slots__ = ("grad", "value")
    grad: Any
    made = False  # whether there is any

    def __init__(self, value):
        super().__init__(None)
        Leaf.made = True
        self.value, self.grad = value, None


class Freed:
    """In place of a step whose memory was given back. place: of the call of `backward`."""

    def __init__(self):
        self.place = "{}:{}".format(*caller() or ("an unknown place", 0))


class VariableRun(ReverseRun):
    """The run that variables belong to, of depth 0 that is never entered nor left."""

    __slots__ = ("local", "watched")
    kind: Any = None  # Variable, put here by variables.py

    def __init__(self):
        super().__init__("variables")
        self.depth, self.outer, self.place = 0, None, None
        self.tape, self.local = (), threading.local()
        self.append, self.required = self._append, _Required(self)
        self.watched = watched(_Record(self))

    def _append(self, entry):
        (self.watched if watching.get() else self.record)(entry)

    def record(self, entry):
        """A node for the value that is made next in this thread; that of several results is the parent of each."""
        local = self.local
        if entry[0] is PART:
            local.last = Node((*entry[:3], (local.main(),)))
            return
        local.last = node = Node(entry)
        if type(entry[2]) is not np.ndarray and isinstance(entry[2], tuple):
            local.main = weakref.ref(node)  # its parts hold it

    def mark(self):
        """A number larger than those of all nodes so far, and smaller than those of all later ones."""
        return next(_numbers)

    def node(self, entry):
        """A node that is no value's, or not yet."""
        return Node(entry)

    def constant(self, value):
        return super().constant(value) if recording.get() else value

    def written(self, x, new, others):
        leaves = [y for y in (x, *others) if type(y.index) is Leaf]
        if not leaves:
            return False
        if recording.get() or leaves[0] is not x:
            raise MutationError(
                f"a write to {shown(leaves[0])}{'' if leaves[0] is x else ' through a view of it'}, from which results may "
                "have been computed; write to the variable itself within `with polyad.no_grad():`, or use x.assign(value)"
            )
        x._store(new)
        return True


class _Record:
    """A run's record as something to append to."""

    def __init__(self, run):
        self.append = run.record


class _Required:
    def __init__(self, run):
        self.run = run

    def append(self, place):
        self.run.local.last.required = True


def entry_of(node):
    if type(node.entry) is Freed:
        raise StructureError(
            f"backward: part of this result's record was given back by an earlier backward (at {node.entry.place}); add the "
            "results and call backward once, call it with retain=True the first time, or cut a value carried from step to "
            "step with h = h.detach()"
        )
    return node.entry


def number_of(node):
    return node.number


def shown(x):
    return f"{'a variable' if x.is_leaf else 'a result'} of {dtype_of(x)}{list(shape_of(x))}"
