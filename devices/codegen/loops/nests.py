"""Loop nests: what is computed by one pass over an iteration space, and its statements.

A nest has roots: values stored into arrays, and reductions over some of its axes. Nests over the same space fuse by putting
their roots together; values that one root stores and another reads at the same place are then read from registers.
"""

from dataclasses import dataclass, field
from typing import Any

from ....dsl.ir.programs import Var
from ...lowering import record
from ..text.expressions import Expression, accesses_in, c
from ..text.indices import ZERO, Index
from ..text.scalars import cast
from ..text.statements import Assign, Local, called
from .bodies import Body
from .reductions import Accumulator

OPERATION, MOVEMENT = 15, 3  # additions


@dataclass
class Store:
    """buffers[var][place(body, idx)] = atom at idx; `place` None: at idx. atom None: var itself, computed by its equation.
    add: add to what is there."""

    var: Var
    atom: object = None
    place: object = None
    add: bool = False


@dataclass
class Reduce:
    """buffers[var] = the reduction of equation.inputs[0] over axes."""

    var: Var
    equation: Any
    axes: tuple
    keepdims: bool


@dataclass
class Nest:
    """shape: the iteration space. sequential: iterations must run in order (repeated places). unroll: its loops are to be
    written out."""

    shape: tuple
    roots: list
    sequential: bool = False
    work: int = 1
    reads: list = field(default_factory=list)
    unroll: bool = False
    filled: Any = None  # (Body, sums) of the dry run, until it is emitted
    steps = 1  # within an iteration

    @property
    def reduced(self):
        """Axes over which its reductions run."""
        return next((r.axes for r in self.roots if isinstance(r, Reduce)), ())

    @property
    def reduces(self):
        """Return whether there is a reduction, be it over no axis."""
        return any(isinstance(r, Reduce) for r in self.roots)

    @property
    def writes(self):
        return [r.var for r in self.roots]

    @property
    def kept_first(self):
        """Count the leading axes that no reduction runs over."""
        return min(self.reduced, default=len(self.shape))


def counters(shape):
    """Indices of the iteration: a counter for each axis that is longer than 1."""
    return tuple(ZERO if n == 1 else Index(0, [(f"i{a}", 1)]) for a, n in enumerate(shape))


def fill(nest, body):
    """Put the statements of one iteration into a body. Returns the accumulators with their values and output places."""
    idx, sums = counters(nest.shape), []
    for root in nest.roots:
        buffer = body.graph.buffers[root.var]
        if isinstance(root, Reduce):
            x = root.equation.inputs[0]
            total = Accumulator(record(root.equation).reduce, buffer.dtype, f"a{len(sums)}")
            value = body.at(x, idx, total.taken_as(x.aval.dtype))
            kept = tuple(ZERO if a in root.axes else i for a, i in enumerate(idx) if root.keepdims or a not in root.axes)
            sums.append((total, value, buffer, kept))
            continue
        if root.atom is None:
            value = body.value(root.var, idx, define=True)
        elif isinstance(root.atom, Var):
            value = cast(body.operand(root.atom, idx, root.atom.aval.dtype), root.atom.aval.dtype, buffer.dtype)
        else:
            value = body.operand(root.atom, idx, buffer.dtype)
        where = idx if root.place is None else root.place(body, idx)
        target = body.access(buffer, where)
        body.statements.append(Assign(target, added(target, value, buffer.dtype) if root.add else value))
    return sums


def added(target, value, dtype):
    """The sum of what is at a place and a value."""
    return c("({} || {})" if dtype.kind == "b" else "{} + {}", target, value)


def dry_run(nest, graph):
    """Fill a nest's body and note the (Var, index) pairs that it loads from memory. Raises Unsupported for what has no C."""
    body = Body(graph)
    nest.filled = body, fill(nest, body)
    nest.reads = body.loads
    return body


def taken(nest, graph):
    """(a nest's body, its sums), to be changed: those of the dry run, or new ones."""
    if nest.filled is None:
        dry_run(nest, graph)
    found: Any = nest.filled
    nest.filled = None
    return found


def absorb(nest, other):
    """Let a nest do what another one over the same space does, after what it does itself.

    What it reads follows from what both read: trying each time would take a time that grows with the square of their number.
    """
    here = counters(nest.shape)
    known = {*nest.reads, *[(r.var, here) for r in nest.roots if isinstance(r, Store) and r.atom is None]}
    nest.roots += other.roots
    nest.reads = [*nest.reads, *[read for read in other.reads if read not in known]]
    nest.work += other.work
    nest.filled = None


def work(statement):
    """Estimate what a statement of an iteration costs, in additions: less where it only loads or stores a number."""
    if type(statement) is Local and type(statement.value) is Expression:
        value = statement.value
        computes = value.calls or len(value.parts) > 1 and not accesses_in(value)
    else:
        computes = called([statement])
    return OPERATION if computes else MOVEMENT
