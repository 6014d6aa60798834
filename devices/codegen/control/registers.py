"""Straight-line evaluation in C: each element of a small array is a variable of its own, which lies in a register.

This is how the bodies of loops and the branches of choices on a few numbers are written: without memory and without loops over
elements. What is too large for that is planned as passes over memory, see `memory_loops.py`.
"""

from typing import Any

from ....dsl.avals import UNKNOWN
from ....dsl.control.subprograms import avals_out
from ....dsl.ir.programs import Var
from ...lowering import record
from ..loops.bodies import Body, Graph
from ..loops.elementwise import FUNCTION, cost
from ..loops.index_maps import mapped
from ..plan.plan import lowerable
from ..text.expressions import Name
from ..text.indices import Buffer, contiguous, points
from ..text.scalars import Unsupported, memory_type
from ..text.statements import Array

LARGEST = 32  # elements of an array whose elements are variables
CALLS = 16  # elements from which on functions such as exp are rather computed for a vector at a time
LONGEST = 2000  # steps of a program that is written so: compilers take long for more


class Straight(Body):
    """The values of a program, all loops over their elements written out.

    graph: as of a `Body`; parent: the `Straight` around it, whose values the program's inputs are: `bound` maps these to atoms
    of the parent. Statements of the parent that are first needed here are put before this program, not into it.
    """

    def __init__(self, graph, parent: Any = None):
        super().__init__(graph, graph.functions.unique("u"))
        self.parent, self.bound = parent, {}
        if parent is not None:
            self.accesses = parent.accesses

    def name(self):
        return f"{self.prefix}_{len(self.statements)}"

    # ------------------------------------------------------------------ programs within
    def child(self, program):
        """For a program within, whose inputs are yet to be bound."""
        graph, around = Graph(self.graph.functions), self.graph
        graph.literals, graph.constants, graph.everywhere = around.literals, around.constants, around.everywhere
        graph.makers = {v: e for e in program.equations for v in e.outputs}
        return Straight(graph, self)

    def run(self, program):
        """Compute all values of the program in order. Raises Unsupported."""
        if sum(map(work, program.equations)) > LONGEST:
            raise Unsupported("a long program")
        all_lowerable(program)
        for e in program.equations:
            lowered = record(e)
            if lowered.registers:
                lowered.registers(self, e)
                continue
            moved = lowered.index_map is not None
            for v in e.outputs:
                small = v.aval.size <= LARGEST and UNKNOWN not in v.aval.shape
                if not (small or moved):
                    raise Unsupported("an array that is not small")
                if small and not (moved and any(x.aval.size > LARGEST for x in e.inputs[:1] if isinstance(x, Var))):
                    for idx in points(v.aval.shape):
                        self.value(v, idx)

    # ------------------------------------------------------------------ values
    def value(self, var, idx, define=False):
        graph = self.graph
        if var in graph.literals and not self.from_memory:
            return super().value(var, idx)
        found = self.memo.get((var, idx))
        if found is not None:
            return found
        if var in self.bound or (self.parent is not None and var in graph.everywhere):
            name = self._from_outside(var, idx)
        elif var in graph.buffers and not define:
            return super().value(var, idx)
        else:
            e = graph.makers.get(var)
            if e is None:  # given as variables
                self.spill(var)
                return super().value(var, idx)
            element = record(e).element
            if element is None or mapped(e):
                return super().value(var, idx, define)
            if not constant(idx):
                self.spill(var)
                return super().value(var, idx)
            name = element(self, e, idx)
            if name is None:  # it lies in memory now
                return super().value(var, idx)
        self.memo[var, idx] = name
        return name

    def _from_outside(self, var, idx):
        atom = self.bound.get(var, var)
        if constant(idx) or not isinstance(atom, Var) or atom in self.graph.literals:
            return self.parent.at(atom, idx, var.aval.dtype)
        return self.load(self.parent.memory(atom), idx)

    def _compute_inputs(self, equation, idx):
        """Nothing: programs are evaluated in order."""

    def memory(self, var):
        """The Buffer in which a value lies, put there if it does not yet."""
        if var in self.graph.buffers:
            return self.graph.buffers[var]
        if self.parent is not None and (var in self.bound or var in self.graph.everywhere):
            atom = self.bound.get(var, var)
            if isinstance(atom, Var) and atom not in self.graph.literals:
                return self.parent.memory(atom)
        return self.spill(var)

    def spill(self, var):
        """A value that is a number of variables, put into memory."""
        if var in self.graph.buffers:
            return self.graph.buffers[var]
        if var.aval.size > LARGEST or not self.known(var):
            raise Unsupported("a value that is nowhere")
        values = [self.value(var, idx) for idx in points(var.aval.shape)]
        name = self.graph.functions.unique("m")
        self.statements.append(Array(memory_type(var.aval.dtype), name, max(len(values), 1), tuple(values)))
        self.graph.buffers[var] = Buffer(name, var.aval.dtype, var.aval.shape)
        return self.graph.buffers[var]

    def known(self, var):
        """Whether a value can be computed here."""
        return var in self.graph.makers or var in self.bound or all((var, idx) in self.memo for idx in points(var.aval.shape))

    def space(self, var):
        """Memory for a value that is about to be written: its own, or a new array in this scope."""
        if var not in self.graph.buffers:
            if UNKNOWN in var.aval.shape or var.aval.size > 4096:
                raise Unsupported("memory for a large array")
            name = self.graph.functions.unique("m")
            self.statements.append(Array(memory_type(var.aval.dtype), name, max(var.aval.size, 1)))
            self.graph.buffers[var] = Buffer(name, var.aval.dtype, var.aval.shape)
        return self.graph.buffers[var]

    def growing(self, var):
        """(Buffer, name of the variable with its length) of an array that grows as it is written."""
        if UNKNOWN not in self.graph.buffers[var].shape if var in self.graph.buffers else True:
            raise Unsupported("an array that grows within a program")
        return self.graph.buffers[var], f"{self.graph.buffers[var].name}_n"

    def length(self, var):
        """The length of an array that is known when the program runs."""
        if var in self.bound and isinstance(self.bound[var], Var):
            return self.parent.length(self.bound[var])
        if var not in self.graph.buffers:
            raise Unsupported("an array of unknown length")
        return Name(f"{self.graph.buffers[var].name}_n")

    def elements(self, atom, aval):
        """All elements of a Var or number, in order, as of this shape and dtype."""
        return [self.at(atom, idx, aval.dtype) for idx in points(aval.shape)]


class Part(Buffer):
    """An array in the memory of another one, from the place `start` on. start: Index."""

    __slots__ = ("start",)

    def __init__(self, whole, start, shape, strides=None):
        super().__init__(whole.name, whole.dtype, shape, contiguous(shape) if strides is None else strides)
        self.start = start + whole.start if isinstance(whole, Part) else start

    def at(self, idx):
        return super().at(idx) + self.start


def constant(idx):
    """Whether an index is known in advance."""
    return not any(i.terms for i in idx)


def work(e):
    """Steps of an equation that is written out. Raises Unsupported where loops over vectors are better."""
    lowered, out = record(e), e.outputs[0].aval if e.outputs else None
    if lowered.registers or out is None or lowered.index_map and out.size > LARGEST:
        return 1
    if lowered.nests and not lowered.element:
        raise Unsupported(f"{e.op.__name__} of numbers one by one")
    if lowered.steps:
        steps = lowered.steps(e)
    elif lowered.reduce:
        steps = e.inputs[0].aval.size if isinstance(e.inputs[0], Var) else 1
    else:
        steps = out.size
        if steps > CALLS and e.op.card.kind == "elementwise" and cost(e.op) >= FUNCTION:
            raise Unsupported("functions of many elements")
    if steps > 4 * LARGEST:
        raise Unsupported("sums of many elements")
    return steps


def all_lowerable(program):
    """Raises Unsupported if an operation of a program, other than those on programs, has no C."""
    for e in program.equations:
        if not record(e).of_programs and not lowerable(e):
            raise Unsupported(f"{e.op.__name__} in a program within an operation")


def results_of(program):
    """Pairs (atom, Aval) of a program's results."""
    return list(zip(program.outputs, avals_out(program), strict=True))
