"""Loops over a few numbers in C: `steps_of` and `loop`, their carry in variables, their outputs written where they belong."""

from ....dsl.avals import UNKNOWN
from ....dsl.ir.programs import Var
from ..plan.subprograms import simple
from ..text.expressions import Name, c
from ..text.indices import Index
from ..text.scalars import Unsupported, ctype
from ..text.statements import Assign, Do, Local
from .loop_statements import endless, grow, repeated, reserve, unless_memory
from .registers import LARGEST, Part, points, results_of


class Carry:
    """The carry of a loop as variables of the body around it.

    given: atoms of that body; inputs: Vars of the loop's programs.
    """

    def __init__(self, body, given, inputs):
        self.types, self.names, self.inputs = [], [], []
        if any(v.aval.size > LARGEST for v in inputs):
            raise Unsupported("a carry that is not small")
        for atom, v in zip(given, inputs, strict=True):
            first = body.elements(atom, v.aval)
            names = [Name(body.graph.functions.unique("k")) for _ in first]
            body.statements += [Local(ctype(v.aval.dtype), name.name, x) for name, x in zip(names, first, strict=True)]
            self.names.append(names)
            self.types.append(ctype(v.aval.dtype))

    def enter(self, child, inputs):
        """Let the inputs of a program be these variables."""
        for v, names in zip(inputs, self.names, strict=True):
            child.memo.update({(v, idx): name for idx, name in zip(points(v.aval.shape), names, strict=True)})

    def follow(self, child, outputs):
        """The statements that make the results of a step the carry of the next one."""
        new, mine = [], {name for names in self.names for name in names}
        for (atom, aval), names, kind in zip(outputs, self.names, self.types, strict=True):
            for name, value in zip(names, child.elements(atom, aval), strict=True):
                if value in mine and value != name:  # which gets a new value, too
                    value = child.local(kind, value)
                if value != name:
                    new.append(Assign(name, value))
        return new

    def leave(self, body, results):
        """Let results of the equation be the variables."""
        for v, names in zip(results, self.names, strict=True):
            body.memo.update({(v, idx): name for idx, name in zip(points(v.aval.shape), names, strict=True)})


def bind(child, program, atoms):
    """Let the first inputs of a program be atoms of the body around it."""
    child.bound.update(zip(program.inputs, atoms, strict=False))


def stored(child, buffer, step, atom, aval):
    """Statements that write a step's output into its row."""
    row = Part(buffer, step * _size(aval.shape), aval.shape)
    values = child.elements(atom, aval)
    return [Assign(child.access(row, idx), x) for idx, x in zip(points(aval.shape), values, strict=True)]


def _size(shape):
    size = 1
    for n in shape:
        size *= n
    return size


def steps_of(body, e):
    params = e.params
    program, constants, carry = simple(params["body"]), params["constants"], params["carry"]
    fixed, first, rows = e.inputs[:constants], e.inputs[constants : constants + carry], e.inputs[constants + carry :]
    results = results_of(program)
    if any(aval.size > LARGEST or UNKNOWN in aval.shape for _, aval in results):
        raise Unsupported("results of a step that are not small")
    length = params["length"] if params["length"] is not None else body.length(rows[0])
    carried = Carry(body, first, program.inputs[constants : constants + carry])
    spaces = [body.space(v) for v in e.outputs[carry:]]
    child, counter = body.child(program), body.graph.functions.unique("n")
    step = Index(0, [(counter, 1)])
    bind(child, program, fixed)
    carried.enter(child, program.inputs[constants : constants + carry])
    for v, x in zip(program.inputs[constants + carry :], rows, strict=True):
        if not isinstance(x, Var) or x in body.graph.literals:
            child.bound[v] = body.graph.literals[x] if isinstance(x, Var) else x
        else:
            child.graph.buffers[v] = Part(body.memory(x), step * _size(v.aval.shape), v.aval.shape)
    child.run(program)
    for (atom, aval), space in zip(results[carry:], spaces, strict=True):
        child.statements += stored(child, space, step, atom, aval)
    child.statements += carried.follow(child, results[:carry])
    if params["length"] is None:
        for (_, aval), space in zip(results[carry:], spaces, strict=True):
            body.statements += reserve(body.graph.functions, space, _size(aval.shape), length)
        length = unless_memory(length) if spaces else length
    body.statements.append(repeated(counter, length, params["reverse"], child.statements))
    carried.leave(body, e.outputs[:carry])


def loop(body, e):
    params = e.params
    test, program, constants = simple(params["test"]), simple(params["body"]), params["constants"]
    fixed, first = e.inputs[:constants], e.inputs[constants:]
    carry, results = len(first), results_of(program)
    if any(aval.size > LARGEST or UNKNOWN in aval.shape for _, aval in results):
        raise Unsupported("results of a step that are not small")
    carried = Carry(body, first, program.inputs[constants:])
    growing = [body.growing(v) for v in e.outputs[carry:]]
    asks, child = body.child(test), body.child(program)
    for inner, sub in ((asks, test), (child, program)):
        bind(inner, sub, fixed)
        carried.enter(inner, sub.inputs[constants:])
        inner.run(sub)
    (going,) = asks.elements(*results_of(test)[0])
    for (atom, aval), (buffer, length) in zip(results[carry:], growing, strict=True):
        size = _size(aval.shape)
        child.statements.append(grow(body.graph.functions, buffer, size))
        child.statements += stored(child, buffer, Index(0, [(length, 1)]), atom, aval)
        child.statements.append(Do(c("{}++", Name(length)), (length,)))
    child.statements += carried.follow(child, results[:carry])
    body.statements.append(endless(asks.statements, going, child.statements))
    carried.leave(body, e.outputs[:carry])
