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
from .bodies import array, body_of, copied, given, in_arena, known_rows, moved, own_array, results_of
from .loop_statements import endless, grow, repeated, reserve, stops, unless_memory


class Carried:
    """The carry of a loop in memory: `arguments` for its programs, `targets` for the body's results, `in_place` of the body,
    and `fixed`, arrays that stay the same. After `placed`, statements for before, the end of each step, and after."""

    def __init__(self, graph, program, first, fixed, outs):
        self.graph, self.parts = graph, []
        self.arguments, self.targets, self.in_place = [], [], []
        self.before, self.step, self.after, self.spare = [], [], [], []
        self.fixed = [x for x in fixed if isinstance(x, Buffer)]
        inputs = program.inputs[len(fixed) : len(fixed) + len(first)]
        for atom, v, result, out in zip(first, inputs, program.outputs, outs, strict=False):
            write = write_in_place(program, v, result)
            now = given(graph, atom) if result is v else self._memory("now", v)
            new = None if result is v else now if write is not None else self._memory("new", v)
            self.arguments.append(now)
            self.targets.append(new)
            self.in_place += [(write, v)] if write is not None else []
            self.fixed += [now] if result is v and isinstance(now, Buffer) else []
            self.parts.append((atom, v.aval, now, new, out))

    def _memory(self, prefix, v):
        return Buffer(self.graph.functions.unique(prefix), v.aval.dtype, v.aval.shape)

    def placed(self, few):
        """Find memory for it. few: whether the programs are written out, so that small parts are arrays of their own."""
        for atom, aval, now, new, out in self.parts:
            if new is None:  # it stays
                self.after += copied(self.graph, atom, aval, out, few)
            elif own_array(now, few):
                self.before += [array(now), *moved(given(self.graph, atom), now)]
                self.after += moved(now, out)
                if new is not now:
                    self.before.append(array(new))
                    self.step += moved(new, now)
            else:
                self.before += copied(self.graph, atom, aval, out)
                self.before.append(pointer(now, out))
                if new is not now:
                    self._changing(now, new, out)
        return self

    def _changing(self, now, new, out):
        """Let memory change places after each step, and be `out` in the end."""
        spare, t = Buffer(self.graph.functions.unique("spare"), now.dtype, now.shape), f"{memory_type(now.dtype)} *"
        self.spare.append(spare)
        self.before.append(pointer(new, spare))
        other, here, there, to = Name("other"), Name(now.name), Name(new.name), Name(out.name)
        self.step.append(scope(Local(t, "other", here), Assign(here, there), Assign(there, other)))
        copy = call("__builtin_memcpy", to, here, math.prod(now.shape) * now.dtype.itemsize)
        self.after.append(If(c("{} != {}", here, to), [Do(copy)]))

    def around(self, loop):
        """The whole, with memory for what is not in the results."""
        places, offset = [], 0
        for b in self.spare:
            places.append((b, offset))
            offset += -(-max(math.prod(b.shape) * b.dtype.itemsize, 1) // 64) * 64
        return in_arena(self.graph, [*self.before, *loop, *self.after], places, offset)


def pointer(buffer, memory):
    """The declaration of a buffer that lies where another one does."""
    return Local(f"{memory_type(buffer.dtype)} *", buffer.name, Name(memory.name))


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
    carried = Carried(graph, program, e.inputs[constants : constants + carry], fixed, outs)
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
    few, statements = body_of(program, graph, [*fixed, *carried.arguments, *read], targets, carried.in_place)
    carried.placed(few)
    length, room = params["length"], []
    if length is None:
        length = Name(f"{rows[0].name}_n")  # type: ignore[union-attr]
        for out, (_, aval) in zip(outs[carry:], results[carry:], strict=True):
            room += reserve(functions, out, math.prod(aval.shape), length)
        length = unless_memory(length) if room else length
    body = [*declared, *statements, *carried.step]
    loop = repeated(counter, length, params["reverse"], body, stops(statements), tuple(carried.fixed))
    return carried.around([*room, loop])


def loop(e, graph):
    """Statements of a loop that ends when its test says so."""
    params, functions = e.params, graph.functions
    test, program, constants = simple(params["test"]), simple(params["body"]), params["constants"]
    first = e.inputs[constants:]
    results, outs = results_of(program), [graph.buffers[v] for v in e.outputs]
    known_rows(results)
    fixed = [given(graph, x) for x in e.inputs[:constants]]
    carried = Carried(graph, program, first, fixed, outs)
    going = Buffer(functions.unique("going"), results_of(test)[0][1].dtype, ())
    few, asks = body_of(test, graph, [*fixed, *carried.arguments], [going])
    declared, advance, written_ = [], [], []
    for out, (_, aval) in zip(outs[len(first) :], results[len(first) :], strict=True):
        length = f"{out.name}_n"
        y, line = row(out, aval.shape, length, functions)
        declared += [grow(functions, out, math.prod(aval.shape)), line]
        advance.append(Do(c("{}++", Name(length)), (length,)))
        written_.append(y)
    targets = [*carried.targets, *written_]
    also, statements = body_of(program, graph, [*fixed, *carried.arguments], targets, carried.in_place)
    carried.placed(few and also)
    steps = [*declared, *statements, *advance, *carried.step]
    return carried.around([endless(asks, Access(going, "0"), steps, [array(going)], tuple(carried.fixed))])
