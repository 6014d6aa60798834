"""Programs within operations as passes over memory: loops with a carry too large for variables, and choices."""

import math

from ....dsl.avals import UNKNOWN
from ....dsl.ir.pass_selection import on
from ....dsl.ir.programs import Var
from ...lowering import record
from ..loops.bodies import Graph
from ..loops.emission import emit
from ..loops.groups import written
from ..loops.nests import Nest, Store
from ..plan.memory import Arena, growing, lifetimes, pointer_into
from ..plan.plan import Plan
from ..plan.subprograms import simple
from ..text.expressions import Access, Name, c, call
from ..text.indices import Buffer
from ..text.scalars import Unsupported, literal, memory_type
from ..text.statements import NO_MEMORY, Array, Assign, Block, Do, If, Local, scope, switch
from .loop_statements import endless, grow, repeated, reserve, stops, unless_memory
from .registers import Straight, all_lowerable, points, results_of

STACK = 16 * 1024  # bytes of temporaries of one program within another that lie on the stack


class Number:
    """An argument that is one number. value: NumPy scalar or Python number."""

    def __init__(self, value):
        self.value = value


def given(graph, atom):
    """The Buffer or Number that an atom is."""
    if not isinstance(atom, Var):
        return Number(atom)
    return Number(graph.literals[atom]) if atom in graph.literals else graph.buffers[atom]


def inner_graph(graph, program, arguments):
    """What is known inside a program. arguments: of its inputs, each a Buffer or a Number."""
    inner = Graph(graph.functions)
    inner.literals, inner.constants, inner.everywhere = dict(graph.literals), graph.constants, graph.everywhere
    inner.buffers.update(graph.everywhere)
    inner.prefix = graph.functions.unique("b") + "_"
    for v, x in zip(program.inputs, arguments, strict=True):
        if isinstance(x, Number):
            inner.literals[v] = v.aval.dtype.type(x.value)
        else:
            inner.buffers[v] = x if x.shape == v.aval.shape else Buffer(x.name, x.dtype, v.aval.shape)
    return inner


def program_statements(program, graph, arguments, targets, in_place=()):
    """Statements that run a program. Raises Unsupported.

    targets: a Buffer for each result, None for one that is not wanted. in_place: pairs (equation, input) of writes to an input
    whose memory the result has.
    """
    as_values = lambda: _as_values(program, inner_graph(graph, program, arguments), targets)
    as_passes = lambda: _as_passes(program, inner_graph(graph, program, arguments), targets, in_place)
    try:
        return as_values() if on("fusion") else as_passes()
    except Unsupported:
        return as_passes() if on("fusion") else as_values()


def _as_values(program, inner, targets):
    inner.makers = {v: e for e in program.equations for v in e.outputs}
    body = Straight(inner)
    body.run(program)
    stores = []
    for (atom, aval), target in zip(results_of(program), targets, strict=True):
        if target is not None and not (isinstance(atom, Var) and inner.buffers.get(atom) is target):
            values = body.elements(atom, aval)
            stores += [Assign(body.access(target, idx), x) for idx, x in zip(points(aval.shape), values, strict=True)]
    return [scope(*body.statements, *stores)]


def _as_passes(program, inner, targets, in_place):
    all_lowerable(program)
    made, copies = {v for e in program.equations for v in e.outputs}, []
    outputs = []
    for (atom, aval), target in zip(results_of(program), targets, strict=True):
        if target is None:
            continue
        if isinstance(atom, Var) and atom in made and atom not in inner.buffers:
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
    groups, temporaries, statements = written(plan, inner)
    for atom, aval, target in copies:
        statements += copied(inner, atom, aval, target)
    grown = [inner.buffers[v] for v in temporaries if UNKNOWN in v.aval.shape]
    arena = Arena(lifetimes({v for v in temporaries if UNKNOWN not in v.aval.shape}, groups, plan.memory))
    places = [(inner.buffers[v], offset) for v, offset in arena.offsets.items()]
    freed = [Do(call("free", Name(b.name))) for b in grown]
    return in_arena(inner, [*[s for b in grown for s in growing(b)], *statements, *freed], places, arena.size)


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


def copied(graph, atom, aval, target):
    """Statements that put an atom of the graph into memory."""
    v = Var(aval)
    graph.buffers[v] = target
    return emit(Nest(aval.shape, [Store(v, atom)]), graph)


# ---------------------------------------------------------------------- loops
class Carried:
    """The carry of a loop in memory: `arguments` for its programs, `targets` for the body's results, `in_place` of the body,
    statements for before, the end of each step, and after."""

    def __init__(self, graph, program, first, constants, outs):
        self.graph, self.program = graph, program
        self.arguments, self.targets, self.in_place = [], [], []
        self.before, self.step, self.after, self.spare = [], [], [], []
        inputs = program.inputs[constants : constants + len(first)]
        for atom, v, result, out in zip(first, inputs, program.outputs, outs, strict=False):
            t = f"{memory_type(v.aval.dtype)} *"
            write = write_in_place(program, v, result)
            if result is v:  # it stays
                self.arguments.append(given(graph, atom))
                self.targets.append(None)
                self.after += copied(graph, atom, v.aval, out)
            elif write is not None:
                self.before += copied(graph, atom, v.aval, out)
                self.arguments.append(out)
                self.targets.append(out)
                self.in_place.append((write, v))
            else:
                now, new = graph.functions.unique("now"), graph.functions.unique("new")
                spare = Buffer(graph.functions.unique("spare"), v.aval.dtype, v.aval.shape)
                self.spare.append(spare)
                self.before += copied(graph, atom, v.aval, out)
                self.before += [Local(t, now, Name(out.name)), Local(t, new, Name(spare.name))]
                self.arguments.append(Buffer(now, v.aval.dtype, v.aval.shape))
                self.targets.append(Buffer(new, v.aval.dtype, v.aval.shape))
                other, here, there, to = Name("other"), Name(now), Name(new), Name(out.name)
                self.step.append(scope(Local(t, "other", here), Assign(here, there), Assign(there, other)))
                copy = call("__builtin_memcpy", to, here, v.aval.size * v.aval.dtype.itemsize)
                self.after.append(If(c("{} != {}", here, to), [Do(copy)]))

    def around(self, loop):
        """The whole, with memory for what is not in the results."""
        places, offset = [], 0
        for b in self.spare:
            places.append((b, offset))
            offset += -(-max(math.prod(b.shape) * b.dtype.itemsize, 1) // 64) * 64
        return in_arena(self.graph, [*self.before, *loop, *self.after], places, offset)


def write_in_place(program, v, result):
    """The equation that makes a result by writing to an input which nobody reads later, or None."""
    if not on("in_place") or not isinstance(result, Var) or program.outputs.count(result) > 1 or v in program.outputs:
        return None
    place = next((k for k, e in enumerate(program.equations) if result in e.outputs), None)
    if place is None:
        return None
    e = program.equations[place]
    if not record(e).in_place or e.inputs[0] is not v or v in e.inputs[1:]:
        return None
    readers = [k for k, other in enumerate(program.equations) if v in other.inputs and other is not e]
    late = any(k > place or record(program.equations[k]).alias for k in readers)  # a reshape may share memory
    return None if late or any(result in other.inputs for other in program.equations) else e


def row(buffer, shape, counter, functions, const=""):
    """(Buffer of a row, its declaration)."""
    name, t = functions.unique("row"), memory_type(buffer.dtype)
    place = c("{} + {} * {}", Name(buffer.name), Name(counter), math.prod(shape))
    return Buffer(name, buffer.dtype, shape), Local(f"{const}{t} *", name, place)


def known_rows(results):
    if any(UNKNOWN in aval.shape for _, aval in results):
        raise Unsupported("results of a step of unknown length")


def steps_of(e, graph):
    params, functions = e.params, graph.functions
    program, constants, carry = simple(params["body"]), params["constants"], params["carry"]
    results, outs = results_of(program), [graph.buffers[v] for v in e.outputs]
    known_rows(results)
    fixed = [given(graph, x) for x in e.inputs[:constants]]
    rows = [given(graph, x) for x in e.inputs[constants + carry :]]
    carried = Carried(graph, program, e.inputs[constants : constants + carry], constants, outs)
    counter, declared, read, written_ = functions.unique("n"), [], [], []
    for x, v in zip(rows, program.inputs[constants + carry :], strict=True):
        if isinstance(x, Buffer):
            x, line = row(x, v.aval.shape, counter, functions, "const ")
            declared.append(line)
        read.append(x)
    for out, (_, aval) in zip(outs[carry:], results[carry:], strict=True):
        y, line = row(out, aval.shape, counter, functions)
        declared.append(line)
        written_.append(y)
    targets = [*carried.targets, *written_]
    statements = program_statements(program, graph, [*fixed, *carried.arguments, *read], targets, carried.in_place)
    length, room = params["length"], []
    if length is None:
        length = Name(f"{rows[0].name}_n")  # type: ignore[union-attr]
        for out, (_, aval) in zip(outs[carry:], results[carry:], strict=True):
            room += reserve(functions, out, math.prod(aval.shape), length)
        length = unless_memory(length) if room else length
    body = [*declared, *statements, *carried.step]
    return carried.around([*room, repeated(counter, length, params["reverse"], body, stops(statements))])


def loop(e, graph):
    params, functions = e.params, graph.functions
    test, program, constants = simple(params["test"]), simple(params["body"]), params["constants"]
    first = e.inputs[constants:]
    results, outs = results_of(program), [graph.buffers[v] for v in e.outputs]
    known_rows(results)
    fixed = [given(graph, x) for x in e.inputs[:constants]]
    carried = Carried(graph, program, first, constants, outs)
    going = Buffer(functions.unique("going"), results_of(test)[0][1].dtype, ())
    asks = program_statements(test, graph, [*fixed, *carried.arguments], [going])
    declared, advance, written_ = [], [], []
    for out, (_, aval) in zip(outs[len(first) :], results[len(first) :], strict=True):
        length = f"{out.name}_n"
        y, line = row(out, aval.shape, length, functions)
        declared += [grow(functions, out, math.prod(aval.shape)), line]
        advance.append(Do(c("{}++", Name(length)), (length,)))
        written_.append(y)
    targets = [*carried.targets, *written_]
    statements = program_statements(program, graph, [*fixed, *carried.arguments], targets, carried.in_place)
    found = Array(memory_type(going.dtype), going.name, 1)
    steps = [*declared, *statements, *advance, *carried.step]
    return carried.around([endless(asks, Access(going, "0"), steps, [found])])


# ---------------------------------------------------------------------- choices
def choice(e, graph):
    index, operands = given(graph, e.inputs[0]), [given(graph, x) for x in e.inputs[1:]]
    chosen = literal(index.value, e.inputs[0].aval.dtype) if isinstance(index, Number) else Access(index, "0")
    targets, cases = [graph.buffers[v] for v in e.outputs], []
    for branch in e.params["branches"]:
        program = simple(branch)
        known_rows(results_of(program))
        cases.append(program_statements(program, graph, operands, targets))
    return [switch(chosen, cases)]
