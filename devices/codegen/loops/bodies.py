"""The inside of loops: values of variables at an index, as statements, each computed once.

A variable is a literal, lies in memory, or is computed where it is read, from the values its equation reads.
"""

import numpy as np

from ....dispatch import describe
from ....dsl.avals import Aval
from ....dsl.ir.programs import Var
from ...lowering import fault, record
from ..text.expressions import Access, Name, Piece, c
from ..text.indices import Buffer, Index, aligned
from ..text.scalars import cast, ctype, literal
from ..text.statements import FAULT, Assign, If, Local
from .elementwise import expression


class Graph:
    """Symbol table: what is known of a program's variables.

    buffers: Var -> Buffer; literals: Var -> NumPy scalar that all elements equal; makers: Var -> Equation.
    constants: Var -> array, for index arrays known in advance.
    """

    def __init__(self, functions):
        self.functions = functions
        self.buffers, self.literals, self.makers, self.constants = {}, {}, {}, {}
        self.same_memory = {}  # Var -> the Var in whose memory it lies
        self.everywhere = {}  # constants of programs within: Var -> Buffer
        self.prefix, self.in_place = "", set()  # of temporaries' names; writes that need no copy of the array

    def flat(self, var):
        """A Var in memory as another of one axis, in the same memory."""
        made = Var(Aval((var.aval.size,), var.aval.dtype))
        source = self.buffers[var]
        self.buffers[made] = Buffer(source.name, source.dtype, made.aval.shape)
        self.same_memory[made] = self.same_memory.get(var, var)
        return made


class Body:
    """Statements of one iteration. `accesses`: elements of arrays in them, in order, whose places change as loops merge."""

    def __init__(self, graph, prefix="v"):
        self.graph, self.prefix = graph, prefix
        self.statements, self.memo, self.accesses = [], {}, []
        self.loads, self.may_fault = [], False
        self.from_memory = False  # read constants from memory even if all their elements are equal

    # ------------------------------------------------------------------ statements
    def name(self):
        return f"{self.prefix}{len(self.statements)}"

    def local(self, ctype_, value):
        """A new local variable with this value."""
        name = self.name()
        self.statements.append(Local(ctype_, name, value))
        return Name(name)

    def access(self, buffer, idx):
        """An element in memory."""
        access = Access(buffer, buffer.at(idx))
        self.accesses.append(access)
        return access

    def load(self, buffer, idx):
        """A new local variable with an element of memory."""
        element = self.access(buffer, idx)
        return self.local(ctype(buffer.dtype), truth(element) if buffer.dtype.kind == "b" else element)

    # ------------------------------------------------------------------ values
    def value(self, var, idx, define=False):
        """A variable's element, in its dtype. define: compute it even if it has memory (to be stored there)."""
        graph = self.graph
        if var in graph.literals and not self.from_memory:
            return literal(graph.literals[var], var.aval.dtype)
        key = (var, idx)
        found = self.memo.get(key)
        if found is not None:
            return found
        if var in graph.buffers and not define:
            self.loads.append((var, idx))
            name = self.load(graph.buffers[var], idx)
        else:
            equation = graph.makers[var]
            index_map = record(equation).index_map
            if index_map is not None:
                name = index_map(self, equation, idx)
                if not isinstance(name, (Piece, str)):
                    form = "it must return C, such as body.value(e.inputs[0], idx)"
                    raise fault(equation, "index_map", f"returned {describe(name)}; {form}")
            else:
                self._compute_inputs(equation, idx)
                name = self._expression(equation, idx)
        self.memo[key] = name
        return name

    def _expression(self, e, idx):
        """A new local variable with the value of an elementwise equation."""
        value = expression(e, self.graph.functions, lambda i, dtype: self.operand(e.inputs[i], idx, dtype))
        return self.local(ctype(e.outputs[0].aval.dtype), value)

    def _compute_inputs(self, equation, idx):
        """Compute what a long chain of elementwise equations needs from its start on, not by recursion."""
        makers, buffers, literals, memo = self.graph.makers, self.graph.buffers, self.graph.literals, self.memo
        stack = [(equation, idx)]
        while stack:
            e, at = stack[-1]
            for v in e.inputs:
                if not isinstance(v, Var):
                    continue
                maker = makers.get(v)
                if maker is None or v in buffers or v in literals or record(maker).index_map is not None:
                    continue
                where = aligned(at, v.aval.shape)
                if (v, where) not in memo:
                    stack.append((maker, where))
                    break
            else:
                stack.pop()
                if stack:
                    v = e.outputs[0]
                    self.memo[v, at] = self._expression(e, at)

    def operand(self, v, idx, dtype):
        """An argument that is broadcast to the array whose element is computed, in this dtype."""
        if not isinstance(v, Var):
            return literal(v, dtype)
        return self.at(v, aligned(idx, v.aval.shape), dtype)

    def at(self, v, idx, dtype):
        """An element of a variable or a number, in this dtype."""
        if not isinstance(v, Var):
            return literal(v, dtype)
        return cast(self.value(v, idx), v.aval.dtype, dtype)

    def position(self, v, idx, length):
        """A place read from an index array, as an Index; negative ones count from the end, faults are noted."""
        known = self.graph.constants.get(v) if isinstance(v, Var) else np.asarray(v)
        inside = known is not None and (not known.size or (known.min() >= 0 and known.max() < length))
        place = self.at(v, idx, np.dtype(np.int64))
        if known is None:
            place = self.local("int64_t", self.graph.functions.place(place))
        if inside:
            return Index(0, [(self.local("int64_t", place).name, 1)])
        name = self.local("int64_t", c("{0} < 0 ? {0} + {1} : {0}", place, length))
        outside = c("(uint64_t){} >= {}", name, f"{length}u", calls=frozenset(("uint64_t",)))
        self.statements.append(If(outside, [FAULT, Assign(name, "0")]))
        self.may_fault = True
        return Index(0, [(name.name, 1)])


def truth(element):
    """Return whether an element in memory, a byte, is true."""
    return c("{} != 0", element)
