"""Programs made of the user's functions inside a control-flow operation: flat, and closed over nothing.

What a function reads from outside becomes arguments of the operation, so each layer sees it.
"""

from typing import Any

import numpy as np

from ...dispatch import Array, Layer, ShapeError, StructureError, check_runs, isa, layers_of, open_runs
from ..array_libraries import Scalar, asarray_like
from ..avals import UNKNOWN, Aval, aval_of, dtype_of, is_number, number_kind
from ..axes import find_axis
from ..card import operations
from ..ir.programs import Equation, Program, Var, without_dead_code
from ..layers.batching import Batched, lanes_of
from ..layers.tracing import NeedsPython, Traced, TraceRun, identity
from ..ops.arithmetic import multiply
from ..ops.compare import logical_and


def recording():
    """Return whether a trace of values encloses this point."""
    return any(isinstance(run, TraceRun) and run.of_values for run in open_runs())


def in_python(as_program, as_python):
    """`as_program()`, or `as_python()` where a function in it asks Python for a value that `jit` around can answer."""
    run = next((run for run in open_runs() if isinstance(run, TraceRun) and run.of_values), None)
    if run is None or not run.answers:
        return as_program()
    if run.performs and not run.replays:
        return as_python()
    try:
        return as_program()
    except NeedsPython as signal:
        if signal.run is not run:
            raise
    return as_python()


def ask_python():
    """Raise NeedsPython if `jit` around can run this as Python's own."""
    for run in open_runs():
        if isinstance(run, TraceRun):
            run.ask_around()
            return


def answered():
    """Return whether `jit` around answers Python's questions of traced values."""
    return any(isinstance(run, TraceRun) and run.answers for run in open_runs())


def decided(x):
    """Return whether Python can be told one value of x: it belongs to no trace and to no lanes."""
    return not any(isinstance(part, (Batched, Traced)) for part in layers_of(x))


def truth(x):
    """A number as a boolean."""
    return x if dtype_of(x).kind == "b" else x != 0


def as_array(x, example=None, dtype=None):
    """A Python number as an array, on the device of the example; all else as it is."""
    if not is_number(x):
        return x
    y = asarray_like(np.asarray(x, dtype), example)
    return y[()] if type(y) is np.ndarray else y


def subprogram(name, f, inputs, hoist=True, lanes=()):
    """Trace a function of flat arrays.

    f: function(*leaves) -> list of leaves. inputs: arrays, Avals or Vars to trace for. hoist: what f reads from outside becomes
    further inputs, before the others; else constants of the program. Returns (Program, the values for these inputs).
    """
    example = next((x for x in inputs if not isinstance(x, (Scalar, Aval, Var))), None)
    with TraceRun(name, example, captures=True) as run:
        known = [_variable(x) for x in inputs]
        for v, its in zip(known, lanes, strict=False):
            v.lanes = dict(its)
        outputs = [run.atom(x) for x in f(*[Traced[run.depth](v, run) for v in known])]
    equations, needed = without_dead_code(run.equations, outputs)
    outside = [pair for pair in run.constants.values() if pair[0] in needed]
    read = outside if hoist else []
    constants = [] if hoist else outside
    return flat_program(name, [*[v for v, _ in read], *known], constants, equations, outputs), [x for _, x in read]


def _variable(x):
    if isinstance(x, Var):
        return Var(x.aval, x.lanes)
    if isinstance(x, Aval):
        return Var(x)
    return Var(aval_of(x), lanes_of(x), number_kind(x))


NUMBERS = (bool, int, float, complex)


def number_type(v):
    """The Python type of a number among the results of a program, or of a value that is one whenever it runs; else None."""
    return v.weak if isinstance(v, Var) else type(v)


def wider(*kinds):
    """The Python type of numbers that holds all of these."""
    return max(kinds, key=NUMBERS.index)


def as_numbers(results, kinds):
    """Results of which the first stand for Python numbers (their type, else None): numbers again, or in a trace values that
    follow what they meet."""
    results = list(results)
    for i, kind in enumerate(kinds):
        if kind and isinstance(results[i], Traced):
            results[i].variable.weak = kind
        elif kind and isa(results[i], (np.generic, np.ndarray)):
            results[i] = kind(results[i])
    return results


def flat_program(name, inputs, constants, equations, outputs):
    """A program of lists of arrays."""
    return Program(name, inputs, constants, equations, outputs, None, None)


def with_outputs(program, outputs):
    """The program with other results."""
    return flat_program(program.name, program.inputs, program.constants, program.equations, outputs)


def sharing_inputs(made):
    """Programs that take the same values first: pairs (program, values it reads) -> (programs, all values)."""
    values = {}
    for _, read in made:
        values.update({identity(x): x for x in read})
    programs = []
    for program, read in made:
        own = {identity(x): v for x, v in zip(read, program.inputs, strict=False)}
        first = [own.get(key) or Var(aval_of(x), lanes_of(x)) for key, x in values.items()]
        inputs = [*first, *program.inputs[len(read) :]]
        programs.append(flat_program(program.name, inputs, program.constants, program.equations, program.outputs))
    return programs, list(values.values())


def avals_out(program):
    """Shapes and dtypes of a program's results."""
    return [v.aval if isinstance(v, Var) else aval_of(v) for v in program.outputs]


def lanes_out(program):
    """`Var.lanes` of a program's results."""
    return [v.lanes if isinstance(v, Var) else {} for v in program.outputs]


def joined_lanes(column):
    """`Var.lanes` of what is one of several values: it varies if one of them does."""
    names = dict.fromkeys([name for lanes in column for name in lanes])
    return {name: all([lanes.get(name, True) for lanes in column]) for name in names}


def varying(x, lanes):
    """x as a value of each lane along the axes where `lanes` says that it varies and x is the same in all: what comes back for
    it is then summed there."""
    if isinstance(x, Layer):
        own = lanes_of(x)
        for name in [name for name, same in lanes.items() if own.get(name) and not same]:
            boolean = dtype_of(x).kind == "b"
            one = find_axis(name, "a loop").run.constant(np.ones((), dtype_of(x))[()])
            x = logical_and(x, one) if boolean else multiply(x, one)
    return x


def check_arguments(name, program, arguments):
    """The arguments of a program have its inputs' shapes and dtypes. Raises ShapeError."""
    if len(arguments) != len(program.inputs):
        raise ShapeError(f"{name}: the program {program.name} takes {len(program.inputs)} arguments, not {len(arguments)}")
    for i, (v, x) in enumerate(zip(program.inputs, arguments, strict=True)):
        if not v.aval.fits(found := aval_of(x)):
            raise ShapeError(f"{name}: argument {i} of the program {program.name} is {v.aval}, not {found}")


def check_carry(name, body, carry):
    """The first results of a loop's body are what it carries, again. Raises ShapeError."""
    if not all([a.fits(aval_of(x)) for a, x in zip(avals_out(body), carry, strict=False)]) or len(body.outputs) < len(carry):
        carried = ", ".join([str(aval_of(x)) for x in carry])
        raise ShapeError(f"{name}: the program {body.name} does not give what it carries, {carried}")


def sources_of(parts, count):
    """For each value that the way back of a program in two parts reads: which input of the way forward it is, None for one that
    the way forward gives after its `count` results."""
    places = {v: j for j, v in enumerate(parts.forward.inputs)}
    return [places.get(v) for v in parts.forward.outputs[count:]]


def alike(name, paths, programs, example=None):
    """Programs brought to the same shapes and dtypes of results, and the Python types of those that are numbers in all of them:
    a number takes the dtype that the others have.

    Raises StructureError naming the result.
    """
    columns = list(zip(*[p.outputs for p in programs], strict=True))
    common = [_common(name, paths[i], column) for i, column in enumerate(columns)]
    return [settled(p, [aval for aval, unused in common], example) for p in programs], [kind for unused, kind in common]


def _common(name, path, column):
    arrays = list(dict.fromkeys([v.aval for v in column if not number_type(v)]))
    numbers: list[Any] = [number_type(v) for v in column if number_type(v)]
    if not arrays:
        kind = wider(*numbers)
        return aval_of(kind(0)), kind
    if len(arrays) > 1 and all([a.fits(arrays[0]) for a in arrays]):  # lengths that are known only when it runs
        lengths = zip(*[a.shape for a in arrays], strict=True)
        arrays = [Aval(tuple([UNKNOWN if UNKNOWN in n else n[0] for n in lengths]), arrays[0].dtype)]
    shown = [*map(str, arrays), *[f"a number ({kind.__name__})" for kind in dict.fromkeys(numbers)]]
    if (
        len(arrays) > 1
        or numbers
        and (arrays[0].shape != () or np.result_type(arrays[0].dtype, *[kind(1) for kind in numbers]) != arrays[0].dtype)
    ):
        raise StructureError(
            f"{name}: its functions return {' and '.join(shown)} for the result{path or ' itself'}; shapes and dtypes must "
            "agree: use astype, broadcast_to, reshape or full"
        )
    return arrays[0], None


def settled(program, avals, example=None):
    """The program with the Python numbers among its first results made arrays of these dtypes, and others of their own."""
    if not any(number_type(v) for v in program.outputs):
        return program
    constants, equations, outputs = list(program.constants), list(program.equations), []
    for i, v in enumerate(program.outputs):
        aval = avals[i] if i < len(avals) else v.aval if isinstance(v, Var) else aval_of(v)
        if not isinstance(v, Var):
            constants.append((Var(aval), as_array(v, example, aval.dtype)))
            v = constants[-1][0]
        elif v.weak and v.aval != aval:
            equations.append(Equation(operations["astype"], [v], {"dtype": aval.dtype}, [Var(aval, v.lanes)]))
            v = equations[-1].outputs[0]
        outputs.append(v)
    return flat_program(program.name, program.inputs, constants, equations, outputs)


def lifted(rule, make):
    """`lift` of a kind of layer: the target for operations on programs.

    rule: name of the card's rule. make: function(run, args, params) -> what the layer gives the rule, or None to have the
    operation's own method run on values of the layer.
    """

    def target(cls, generic, types):
        carry_out = generic.card.rules[rule]
        method = next(m for m in generic.methods if Array in (*m.types, m.varargs))
        kinds = [k for t in types if issubclass(t, Layer) and t.depth == cls.depth for k in [t]]
        whose = next(i for i, t in enumerate(types) if t in kinds)

        def run(*args, **params):
            r = args[whose].run
            if r.inner is not None:  # a trace under way takes calls over
                return r.inner.capture(generic, args, params)
            check_runs(r, args, *kinds)
            lift = make(r, args, params)
            return method.implementation(*args, **params) if lift is None else tuple(carry_out(lift, args, **params))

        return run

    return target
