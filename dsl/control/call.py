"""The call of a program as one operation."""

from ...dispatch import Array
from ..card import opaque
from ..ir.pass_selection import using
from ..ir.programs import evaluate
from ..ir.source import tuple_of
from .self_calls import deep, run_deep, with_used
from .subprograms import avals_out, check_arguments, lanes_out, sources_of, with_outputs


@opaque(kernel=None, numpy=(), spelled="jit", no_rule=dict.fromkeys(("jvp", "vjp", "batch", "samples"),
    "layers lift the program instead"))  # fmt: skip
def call(*arrays, program):
    """The results of a program of flat arrays, as a tuple.

    arrays: of the shapes and dtypes of the program's inputs. program: a program of lists, which may call itself in a branch of
    a choice. Raises ShapeError.
    """


@call.method
def call_run(*arrays: Array, program):
    return tuple(run_deep(program, arrays) if deep(program) else evaluate(program, arrays))


@call.rule("shape")
def call_shape(*arrays, program):
    check_arguments("call", program, arrays)
    return tuple(avals_out(program))


@call.rule("lanes")
def call_lanes(program):
    return lanes_out(program)


@call.rule("code")
def call_code(writer, inputs, outputs, program):
    called = f"{writer.function(program, (), None, None)}({', '.join(inputs)})"
    return f"{tuple_of(outputs)} = {called}" if outputs else called


@call.rule("enter")
def call_enter(*arrays, program):
    return program, arrays


@call.rule("prune")
def call_prune(used, program):
    return None if program.calls_itself else {"program": with_used(program, used)}


@call.rule("lift")
def call_lift(lift, args, program):
    mine = [lift.mine(x) for x in args]
    with using(program.passes):
        below, followed = lift.program(program, mine)
    return lift.all_above(call(*lift.all_below(args, mine), program=below), followed)


@call.rule("pull")
def call_pull(split, xs, mine, program):
    count = len(program.outputs)
    with using(program.passes):
        parts = split(program, mine)
        if program.calls_itself:
            forward, sources = parts.forward, [None] * (len(parts.forward.outputs) - count)
        else:
            forward, sources = _without_given(parts, count)
    results = call(*xs, program=forward)
    kept = iter(results[count:])
    known = [next(kept) if j is None else xs[j] for j in sources]
    return results[:count], parts.followed, lambda cts: call(*known, *cts, program=parts.backward)


def _without_given(parts, count):
    """(the way forward of a program in two, without what it keeps of its arguments; for each value kept which argument it
    is)."""
    known = parts.forward.lifted.get("without given")
    if known is None:  # made once, as it is compiled
        sources = sources_of(parts, count)
        new = [v for v, j in zip(parts.forward.outputs[count:], sources, strict=True) if j is None]
        forward = with_outputs(parts.forward, [*parts.forward.outputs[:count], *new])
        known = parts.forward.lifted["without given"] = forward, sources
    return known
