"""Programs within operations as passes over memory: loops with a carry too large for variables, and choices."""

import math

from ....dsl.avals import UNKNOWN
from ....dsl.ir.pass_selection import on
from ....dsl.ir.programs import Var
from ...lowering import record
from ..loops.bodies import Graph
from ..loops.emission import emit
from ..loops.groups import written
from ..loops.loops import settled
from ..loops.nests import Nest, Store
from ..plan.memory import Arena, lifetimes
from ..plan.plan import Plan
from ..plan.subprograms import simple
from ..text.indices import Buffer
from ..text.scalars import Unsupported, literal, memory_type
from .registers import Straight, all_lowerable, grow, points, reserve, results_of, stops

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


def program_lines(program, graph, arguments, targets, in_place=()):
    """C lines that run a program. Raises Unsupported.

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
            texts = body.elements(atom, aval)
            stores += [f"{body.access(target, idx)} = {text};" for idx, text in zip(points(aval.shape), texts, strict=True)]
    return settled(["{", *body.lines, *stores, "}"], body.places)


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
    groups, temporaries, lines = written(plan, inner)
    for atom, aval, target in copies:
        lines += copied(inner, atom, aval, target)
    grown = [inner.buffers[v] for v in temporaries if UNKNOWN in v.aval.shape]
    arena = Arena(lifetimes({v for v in temporaries if UNKNOWN not in v.aval.shape}, groups, plan.memory))
    places = [(inner.buffers[v], offset) for v, offset in arena.offsets.items()]
    head = [f"{memory_type(b.dtype)} *{b.name} = 0; int64_t {b.name}_n = 0;" for b in grown]
    return in_arena(inner, [*head, *lines, *[f"free({b.name});" for b in grown]], places, arena.size)


def in_arena(graph, lines, places, size):
    """Lines with memory for Buffers around them. places: pairs (Buffer, offset in bytes)."""
    if not size:
        return ["{", *lines, "}"]
    name = graph.functions.unique("arena")
    pointers = [f"{memory_type(b.dtype)} *{b.name} = (void *)({name} + {offset});" for b, offset in places]
    if size <= STACK:
        return ["{", f"char {name}[{size}] __attribute__((aligned(64)));", *pointers, *lines, "}"]
    start = f"char *{name} = taken({size});"
    return ["{", start, f"if (!{name}) memory = 1;", "else {", *pointers, *lines, f"given({name}, {size});", "}", "}"]


def copied(graph, atom, aval, target):
    """C lines that put an atom of the graph into memory."""
    v = Var(aval)
    graph.buffers[v] = target
    return emit(Nest(aval.shape, [Store(v, atom)]), graph)


# ---------------------------------------------------------------------- loops
class Carried:
    """The carry of a loop in memory: `arguments` for its programs, `targets` for the body's results, `in_place` of the body,
    C lines for before, the end of each step, and after."""

    def __init__(self, graph, program, first, constants, outs):
        self.graph, self.program = graph, program
        self.arguments, self.targets, self.in_place = [], [], []
        self.before, self.step, self.after, self.spare = [], [], [], []
        inputs = program.inputs[constants : constants + len(first)]
        for atom, v, result, out in zip(first, inputs, program.outputs, outs, strict=False):
            t = memory_type(v.aval.dtype)
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
                self.before.append(f"{t} *{now} = {out.name}, *{new} = {spare.name};")
                self.arguments.append(Buffer(now, v.aval.dtype, v.aval.shape))
                self.targets.append(Buffer(new, v.aval.dtype, v.aval.shape))
                self.step.append(f"{{ {t} *other = {now}; {now} = {new}; {new} = other; }}")
                bytes_ = v.aval.size * v.aval.dtype.itemsize
                self.after.append(f"if ({now} != {out.name}) __builtin_memcpy({out.name}, {now}, {bytes_});")

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
    """(Buffer of a row, the line that declares it)."""
    name, t = functions.unique("row"), memory_type(buffer.dtype)
    return Buffer(name, buffer.dtype, shape), f"{const}{t} *{name} = {buffer.name} + {counter} * {math.prod(shape)};"


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
    lines = program_lines(program, graph, [*fixed, *carried.arguments, *read], targets, carried.in_place)
    length, room = params["length"], []
    if length is None:
        length = f"{rows[0].name}_n"  # type: ignore[union-attr]
        for out, (_, aval) in zip(outs[carry:], results[carry:], strict=True):
            room += reserve(functions, out, math.prod(aval.shape), length)
        length = f"(memory ? 0 : {length})" if room else length
    stop = "".join(f" && !{sign}" for sign in stops(lines))
    if params["reverse"]:
        head = f"for (int64_t {counter} = {length}; {counter}-- > 0{stop};) {{"
    else:
        head = f"for (int64_t {counter} = 0; {counter} < {length}{stop}; {counter}++) {{"
    return carried.around([*room, head, *declared, *lines, *carried.step, "}"])


def loop(e, graph):
    params, functions = e.params, graph.functions
    test, program, constants = simple(params["test"]), simple(params["body"]), params["constants"]
    first = e.inputs[constants:]
    results, outs = results_of(program), [graph.buffers[v] for v in e.outputs]
    known_rows(results)
    fixed = [given(graph, x) for x in e.inputs[:constants]]
    carried = Carried(graph, program, first, constants, outs)
    going = Buffer(functions.unique("going"), results_of(test)[0][1].dtype, ())
    asks = program_lines(test, graph, [*fixed, *carried.arguments], [going])
    declared, advance, written_ = [], [], []
    for out, (_, aval) in zip(outs[len(first) :], results[len(first) :], strict=True):
        length = f"{out.name}_n"
        y, line = row(out, aval.shape, length, functions)
        declared += [grow(functions, out, math.prod(aval.shape)), line]
        advance.append(f"{length}++;")
        written_.append(y)
    targets = [*carried.targets, *written_]
    lines = program_lines(program, graph, [*fixed, *carried.arguments], targets, carried.in_place)
    stop = "".join(f" || {sign}" for sign in stops([*asks, *lines]))
    t = memory_type(going.dtype)
    steps = ["for (;;) {", f"{t} {going.name}[1];", *asks, f"if (!{going.name}[0]{stop}) break;", *declared, *lines]
    return carried.around([*steps, *advance, *carried.step, "}"])


# ---------------------------------------------------------------------- choices
def choice(e, graph):
    index, operands = given(graph, e.inputs[0]), [given(graph, x) for x in e.inputs[1:]]
    chosen = literal(index.value, e.inputs[0].aval.dtype) if isinstance(index, Number) else f"{index.name}[0]"
    targets, lines = [graph.buffers[v] for v in e.outputs], [f"switch ({chosen}) {{"]
    last = len(e.params["branches"]) - 1
    for k, branch in enumerate(e.params["branches"]):
        program = simple(branch)
        known_rows(results_of(program))
        lines += ["default: {" if k == last else f"case {k}: {{"]
        lines += [*program_lines(program, graph, operands, targets), "break;", "}"]
    return [*lines, "}"]
