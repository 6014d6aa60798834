"""`compile_program` for the host: stretches of equations as C functions, between them what has no C by its own kernel."""

from typing import Any

import numpy as np

from ...dispatch import Layer, isa
from ...dsl.array_libraries import Scalar
from ...dsl.axes import resolved
from ...dsl.control.batching import names_axis
from ...dsl.control.self_calls import deep, run_deep
from ...dsl.debug.nans import checking
from ...dsl.ir.failures import may_fail
from ...dsl.ir.pass_selection import PASSES, chosen, using
from ...dsl.ir.passes import optimized
from ...dsl.ir.passes.rewriting import pure
from ...dsl.ir.programs import Var, evaluate
from ..lowering import record
from . import control, lowerings  # noqa: F401  (what each operation is in C)
from .calls import Fault, caller
from .loops.lowering_checks import told
from .plan.plan import has_c, lowerable
from .plan.subprograms import constants_within, in_row, literals_among
from .source import Source, vars_of
from .text.scalars import Unsupported
from .toolchain.library import Loading, NoCompiler, warn_once
from .values import values_of


def compile_or_run(program):
    """A function of the flat inputs: compiled, or, with one warning, operation by operation."""
    try:
        return compiled(optimized(values_of(program)))
    except (NoCompiler, Unsupported) as error:
        warn_once(told(error, program.equations))
        return lambda *leaves: [owned(y) for y in by_operations(program, leaves)]


def by_operations(program, leaves):
    """The results by the operations one by one; recursion on a stack of our own."""
    return run_deep(program, leaves) if deep(program) else evaluate(program, leaves)


def run_of(program, passes):
    """The compiled function of a program within an operation, by the passes of these names, made once."""
    if checking():
        return lambda *leaves: evaluate(program, leaves)
    key = "host" if passes == program.passes else ("host", passes)
    run = program.lifted.get(key)
    if run is None:
        with using(passes):
            run = program.lifted[key] = compile_or_run(program)
    return run


def owned(y):
    """A result that shares memory with nothing."""
    return y.copy() if isa(y, np.ndarray) else y


def compiled(program):
    """A function of the flat inputs. Raises NoCompiler."""
    constants = {v: x for v, x in program.constants}
    usable = all(isa(x, (np.ndarray, Scalar)) for x in constants.values())
    steps, sources = steps_in_c(program, constants, usable)
    if deep(program) and not all(is_c for is_c, _ in steps):
        return lambda *leaves: [owned(y) for y in run_deep(program, leaves)]
    made: Any = [x and (x, caller(library.result(), x)) for x, library in zip(sources, loading(sources), strict=True)]
    plain = [v for v in program.outputs if isinstance(v, Var) and (v in program.inputs or v in constants)]
    outputs = [v for v in program.outputs if isinstance(v, Var)]
    if len(made) == 1 and steps[0][0] and not plain and len(set(outputs)) == len(outputs) == len(program.outputs):
        source, run = made[0]
        if source.inputs == list(program.inputs) and source.outputs == outputs:
            return with_sources(run if not source.faults else guarded(run, program), made)
    return with_sources(in_steps(program, made, steps, constants), made)


def with_sources(run, made):
    """The function, with the C of its steps to be looked at as `sources`."""
    run.sources = [step[0].text for step in made if step is not None]
    return run


def guarded(run, program):
    """A compiled function; an index out of range is the error of the operation that meets it."""

    def call(*leaves):
        try:
            return run(*leaves)
        except Fault:
            return [owned(y) for y in by_operations(program, leaves)]

    return call


def in_steps(program, made, steps, constants):
    """A function that runs a program's steps in order.

    What a collective gives to lanes that go different ways is a value of the lanes (`Axis.varying`), though nothing that was
    given to the program is: from there on the operations run on these.
    """
    passes = chosen()
    in_lanes = names_axis(program)

    def call(*leaves):
        env = dict(constants)
        env.update(zip(program.inputs, leaves, strict=True))
        for (_, equations), step in zip(steps, made):
            if step is None or in_lanes and any([isinstance(env[v], Layer) for v in step[0].inputs]):
                one_by_one(equations, env, passes)
                continue
            source, run = step
            try:
                env.update(zip(source.outputs, run(*[env[v] for v in source.inputs])))
            except Fault:
                if deep(program):
                    return [owned(y) for y in run_deep(program, leaves)]
                one_by_one(equations, env, passes)  # raises what the operation raises
        results, seen = [], {id(x) for x in (*leaves, *constants.values())}
        for v in program.outputs:
            y = env[v] if isinstance(v, Var) else v
            if isa(y, np.ndarray) and (id(y) in seen or y.base is not None):
                y = y.copy()
            seen.add(id(y))
            results.append(y)
        return results

    return call


def one_by_one(equations, env, passes=PASSES):
    """Run equations by their operations. passes: names of those by which programs within are compiled."""
    compiled_here = lambda program: run_of(program, passes)
    for e in equations:
        given = [env[v] if isinstance(v, Var) else v for v in e.inputs]
        stepwise = record(e).stepwise
        if stepwise is not None and all(isa(x, (np.ndarray, Scalar)) for x in given):
            y = stepwise(compiled_here, *given, **e.params)
        else:
            y = e.op.generic.spread(*given, **resolved(e.op, e.params))
        env.update(zip(e.outputs, y if isinstance(y, tuple) else (y,)))


def stretches(equations, usable=True, lowerable=lowerable):
    """The equations as steps (in C?, equations): as few as their order allows. Even levels are C, odd ones are not; what
    acts or talks to other processes keeps its order, and does not go before or after what may fail."""
    level, steps, acted, failed = {}, {}, 0, 0
    for e in equations:
        in_c = usable and lowerable(e)
        at = max([level.get(v, 0) for v in vars_of(e.inputs)], default=0)
        fails = may_fail(e)
        if fails or not pure(e):
            at = max(at, acted)
        if not pure(e):
            at = max(at, failed)
        at += at % 2 == (1 if in_c else 0)
        if fails:
            failed = max(failed, at)
        if not pure(e):
            acted = at
        steps.setdefault(at, []).append(e)
        level.update(dict.fromkeys(e.outputs, at))
    return [(k % 2 == 0, steps[k]) for k in sorted(steps)]


def steps_in_c(program, constants, usable=True, divided: Any = list):
    """(steps, the C of each, None for one that is not in C). divided: function(steps) -> smaller ones. Raises Unsupported.

    Which operations have C of these dtypes and parameters is found out by making it; only if one has not are they tried one by
    one.
    """
    made = lambda steps: [source_of(step, k, steps, program, constants) for k, step in enumerate(steps)]
    steps = divided(stretches(program.equations, usable, has_c))
    try:
        return steps, made(steps)
    except Unsupported:
        steps = divided(stretches(program.equations, usable))
        return steps, made(steps)


def loading(sources) -> list[Any]:
    """Libraries of sources, on their way; None for none."""
    return [source and Loading(source.text, source.pointers, source.needs) for source in sources]


def source_of(step, number, steps, program, constants):
    is_c, equations = step
    if not is_c:
        return None
    made_here = {v for e in equations for v in e.outputs}
    later = [v for _, others in steps[number + 1 :] for e in others for v in e.inputs]
    needed = {v for v in (*later, *program.outputs) if isinstance(v, Var)}
    outputs = [v for v in dict.fromkeys(program.outputs) if isinstance(v, Var) and v in made_here]
    outputs += [v for e in equations for v in e.outputs if v in needed and v not in outputs]
    read = vars_of(v for e in equations for v in e.inputs)
    inputs = [v for v in program.inputs if v in read]
    inputs += [v for v in read if v not in made_here and v not in constants and v not in inputs]
    arrays = {v: in_row(v, constants[v]) for v in read if v in constants} | constants_within(equations)
    if is_whole(steps) and program.inputs:
        inputs = list(program.inputs)
    literals = literals_among({v: constants.get(v, x) for v, x in arrays.items()})
    return Source(equations, inputs, outputs, arrays, literals)


def is_whole(steps):
    """Return whether a program is one C function."""
    return len(steps) == 1
