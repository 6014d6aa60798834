"""Programs within operations, such as bodies of loops, as statements: a plan of their own, its temporaries in this scope.

All values have memory to begin with, be they arrays or numbers. Loops over few elements are written out, and memory that is
then named element by element becomes variables: see `loops/unrolling.py`.
"""

import math

from ....dsl.avals import UNKNOWN
from ....dsl.control.subprograms import avals_out
from ....dsl.ir.programs import Var
from ..loops.bodies import Graph
from ..loops.emission import emit
from ..loops.groups import written
from ..loops.loops import Loop, around
from ..loops.nests import Nest, Store
from ..plan.memory import Arena, growing, lifetimes, pointer_into
from ..plan.plan import Plan, has_c
from ..text.expressions import Access, Name, c, call
from ..text.indices import Buffer, Index
from ..text.scalars import Unsupported, literal, memory_type
from ..text.statements import NO_MEMORY, Array, Assign, Block, Do, If, Local, scope
from .sizes import LARGEST, mark

STACK = 16 * 1024  # bytes of temporaries of one program within another that lie on the stack


class Number:
    """An argument all of whose elements are one number. value: NumPy scalar or Python number; buffer: where they lie, None for
    a number that is part of the program."""

    def __init__(self, value, buffer=None):
        self.value, self.buffer = value, buffer


def given(graph, atom):
    """The Buffer or Number that an atom is."""
    if not isinstance(atom, Var):
        return Number(atom)
    return Number(graph.literals[atom], graph.buffers.get(atom)) if atom in graph.literals else graph.buffers[atom]


def results_of(program):
    """Pairs (atom, Aval) of a program's results."""
    return list(zip(program.outputs, avals_out(program), strict=True))


def known_rows(results):
    """Raises Unsupported for results of a step whose length is not known."""
    if any(UNKNOWN in aval.shape for _, aval in results):
        raise Unsupported("results of a step of unknown length")


def inner_graph(graph, program, arguments):
    """Collect what is known inside a program. arguments: of its inputs, each a Buffer or a Number."""
    inner = Graph(graph.functions)
    inner.literals, inner.constants, inner.everywhere = dict(graph.literals), graph.constants, graph.everywhere
    inner.buffers.update(graph.everywhere)
    inner.prefix = graph.functions.unique("b") + "_"
    for v, x in zip(program.inputs, arguments, strict=True):
        buffer = x.buffer if isinstance(x, Number) else x
        if isinstance(x, Number):
            inner.literals[v] = v.aval.dtype.type(x.value)
        if buffer is not None:
            inner.buffers[v] = buffer if buffer.shape == v.aval.shape else Buffer(buffer.name, buffer.dtype, v.aval.shape)
    return inner


def program_statements(program, graph, arguments, targets):
    """Statements that run a program: as of `body_of`."""
    return body_of(program, graph, arguments, targets)[1]


def body_of(program, graph, arguments, targets, in_place=()):
    """(whether all its arrays are small, statements that run a program). Raises Unsupported.

    targets: a Buffer for each result, None for one that is not wanted. in_place: pairs (equation, input) of writes to an input
    whose memory the result has.
    """
    for e in program.equations:
        if not has_c(e):
            raise Unsupported(f"{e.op.__name__} in a program within an operation")
    inner = inner_graph(graph, program, arguments)
    made, copies = {v for e in program.equations for v in e.outputs}, []
    read = {v for e in program.equations for v in e.inputs if isinstance(v, Var) and v.aval.size <= LARGEST}  # nearby
    outputs = []
    for (atom, aval), target in zip(results_of(program), targets, strict=True):
        if target is None:
            continue
        if isinstance(atom, Var) and atom in made and atom not in inner.buffers and atom not in read:
            inner.buffers[atom] = target
            outputs.append(atom)
        elif not (isinstance(atom, Var) and inner.buffers.get(atom) is target):
            copies.append((atom, aval, target))
            outputs += [atom] if isinstance(atom, Var) and atom in made else []
    for e, v in in_place:
        inner.in_place.add(e)
        inner.same_memory[e.outputs[0]] = v
        outputs += [out for other in program.equations if other is not e and v in other.inputs for out in other.outputs]
    plan = Plan(program.equations, outputs, inner)
    few = mark(plan.nests, inner)
    groups, temporaries, statements = written(plan, inner)
    for atom, aval, target in copies:
        statements += copied(inner, atom, aval, target, few)
    return few, with_memory(inner, statements, temporaries, groups, plan)


def with_memory(graph, statements, temporaries, groups, plan):
    """Statements with memory for temporaries around them: small ones are arrays of their own, which may become variables."""
    grown = [graph.buffers[v] for v in temporaries if UNKNOWN in v.aval.shape]
    alone = [v for v in temporaries if own_array(graph.buffers[v])]
    arena = Arena(lifetimes({v for v in temporaries if v not in alone and UNKNOWN not in v.aval.shape}, groups, plan.memory))
    places = [(graph.buffers[v], offset) for v, offset in arena.offsets.items()]
    freed = [Do(call("free", Name(b.name))) for b in grown]
    before = [*[s for b in grown for s in growing(b)], *[array(graph.buffers[v]) for v in alone]]
    return in_arena(graph, [*before, *statements, *freed], places, arena.size)


def own_array(buffer, few=True):
    """Return whether memory is an array by itself, which may become variables. few: whether its program is written out."""
    return UNKNOWN not in buffer.shape and math.prod(buffer.shape) <= (LARGEST if few else 1)


def array(buffer):
    """The declaration of a small array."""
    return Array(memory_type(buffer.dtype), buffer.name, max(math.prod(buffer.shape), 1))


def in_arena(graph, statements, places, size):
    """Statements with memory for Buffers around them. places: pairs (Buffer, offset in bytes)."""
    if not size:
        return [scope(*statements)]
    arena = Name(graph.functions.unique("arena"))
    pointers = [pointer_into(arena, b, offset) for b, offset in places]
    if size <= STACK:
        return [scope(Array("char", arena.name, size, aligned=True), *pointers, *statements)]
    start, missing = Local("char *", arena.name, call("taken", size)), If(c("!{}", arena), [NO_MEMORY])
    return [scope(start, missing, Block("else", [*pointers, *statements, Do(call("given", arena, size))]))]


def copied(graph, atom, aval, target, few=False):
    """Statements that put an atom of the graph into memory. few: whether its program is written out."""
    if own_array(target, few):
        return moved(given(graph, atom), target)
    v = Var(aval)
    graph.buffers[v] = target
    return emit(Nest(aval.shape, [Store(v, atom)]), graph)


def moved(source, target):
    """Statements that copy a small array, or a Number, to another place in memory, element by element."""
    at, size = Index(0, [("i", 1)]), math.prod(target.shape)
    value = literal(source.value, target.dtype) if isinstance(source, Number) else Access(source, at)
    return around([Loop("i", size, False)], [Assign(Access(target, at), value)], unroll=True)
