"""Loops in C: `steps_of` and `loop`."""

import math

from ....dsl.ir.pass_selection import on
from ....dsl.ir.programs import Var
from ...lowering import record
from ..plan.subprograms import simple
from ..text.expressions import Access, Name, c, call
from ..text.indices import Buffer
from ..text.scalars import memory_type
from ..text.statements import Assign, Do, If, Local, scope
from .bodies import array, copied, given, in_arena, known_rows, program_statements, results_of
from .loop_statements import endless, grow, repeated, reserve, stops, unless_memory
from .sizes import small


class Carried:
    """The carry of a loop in memory: `arguments` for its programs, `targets` for the body's results, `in_place` of the body,
    statements for before, the end of each step, and after.

    Small parts lie in arrays in front of the loop, which become variables; of large ones the memory changes places.
    """

    def __init__(self, graph, program, first, constants, outs):
        self.graph, self.program = graph, program
        self.arguments, self.targets, self.in_place = [], [], []
        self.before, self.step, self.after, self.spare = [], [], [], []
        inputs = program.inputs[constants : constants + len(first)]
        for atom, v, result, out in zip(first, inputs, program.outputs, outs, strict=False):
            write = write_in_place(program, v, result)
            if result is v:  # it stays
                self.arguments.append(given(graph, atom))
                self.targets.append(None)
                self.after += copied(graph, atom, v.aval, out)
                continue
            few = small(v.aval)
            here = self._array("now", v.aval, out) if few else out
            self.before += copied(graph, atom, v.aval, here)
            if write is not None:
                self.arguments.append(here)
                self.targets.append(here)
                self.in_place.append((write, v))
            elif few:
                new = self._array("new", v.aval)
                self.arguments.append(here)
                self.targets.append(new)
                self.step += moved(graph, v.aval, new, here)
            else:
                self._two_memories(v.aval, out)

    def _array(self, prefix, aval, out=None):
        """A small array in front of the loop. out: where it goes in the end."""
        buffer = Buffer(self.graph.functions.unique(prefix), aval.dtype, aval.shape)
        self.before.append(array(buffer))
        if out is not None:
            self.after += moved(self.graph, aval, buffer, out)
        return buffer

    def _two_memories(self, aval, out):
        """A step reads one and writes the other."""
        unique, t = self.graph.functions.unique, f"{memory_type(aval.dtype)} *"
        now, new, spare = unique("now"), unique("new"), Buffer(unique("spare"), aval.dtype, aval.shape)
        self.spare.append(spare)
        self.before += [Local(t, now, Name(out.name)), Local(t, new, Name(spare.name))]
        self.arguments.append(Buffer(now, aval.dtype, aval.shape))
        self.targets.append(Buffer(new, aval.dtype, aval.shape))
        other, here, there, to = Name("other"), Name(now), Name(new), Name(out.name)
        self.step.append(scope(Local(t, "other", here), Assign(here, there), Assign(there, other)))
        copy = call("__builtin_memcpy", to, here, aval.size * aval.dtype.itemsize)
        self.after.append(If(c("{} != {}", here, to), [Do(copy)]))

    def around(self, loop):
        """The whole, with memory for what is not in the results."""
        places, offset = [], 0
        for b in self.spare:
            places.append((b, offset))
            offset += -(-max(math.prod(b.shape) * b.dtype.itemsize, 1) // 64) * 64
        return in_arena(self.graph, [*self.before, *loop, *self.after], places, offset)


def moved(graph, aval, source, target):
    """Statements that copy one array in memory to another."""
    v = Var(aval)
    graph.buffers[v] = source
    return copied(graph, v, aval, target)


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


def steps_of(e, graph):
    """Statements of a loop of so many steps."""
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
    """Statements of a loop that ends when its test says so."""
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
    steps = [*declared, *statements, *advance, *carried.step]
    return carried.around([endless(asks, Access(going, "0"), steps, [array(going)])])
