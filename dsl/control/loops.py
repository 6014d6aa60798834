"""Loops that end by a condition: `while_loop`, and `fori_loop` over whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Array, DTypeError, ShapeError, describe, tree
from ..array_libraries import bottom
from ..avals import Aval, aval_of, dtype_of, is_number, shape_of
from ..card import opaque
from ..ir.programs import Var, evaluate
from ..ir.source import tuple_of
from ..layers.splitting import concrete
from .carries import Carry
from .lifting import fixpoint
from .loop_gradients import forward_steps
from .scan import rows_out, scanned, stacked, steps_of
from .subprograms import (
    as_numbers,
    avals_out,
    check_arguments,
    check_carry,
    decided,
    flat_program,
    in_python,
    lanes_out,
    recording,
    sharing_inputs,
    subprogram,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import T


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], T], init: Any) -> T:
    """Repeat `x = body_fun(x)` while `cond_fun(x)` holds, from x = init on.

    cond_fun: function of the carry with one boolean as result. body_fun: function of the carry that returns the next one,
    of the same structure, shapes and dtypes. init: array or tree. Returns the last carry. Both derivatives work, reverse mode
    by keeping what it needs of each step. Eagerly it is Python's `while`; in a trace both functions become programs; lanes
    of a map stop each at its own step. Raises StructureError for a carry that changes, ShapeError, DTypeError for a condition
    that is no single boolean.

    >>> import numpy as np, polyad as pa
    >>> halve = lambda x: pa.while_loop(lambda x: x > 1, lambda x: x / 2, x)
    >>> pa.vmap(halve)(np.array([0.5, 3.0, 20.0]))
    array([0.5  , 0.75 , 0.625])
    """
    return _while(Carry("while_loop", "body_fun", init), cond_fun, body_fun, init)


def _while(carry, cond_fun, body_fun, x):
    if recording():
        as_programs = lambda: carry.tree(_as_programs(carry, cond_fun, body_fun))
        return in_python(as_programs, lambda: _in_python(carry, cond_fun, body_fun, x, lambda condition: True)[0])
    x, condition = _in_python(carry, cond_fun, body_fun, x, decided)
    if condition is None:
        return x
    rest = Carry(carry.name, carry.what, x, carry.within)
    return rest.tree(_as_programs(rest, cond_fun, body_fun, condition))


def _in_python(carry, cond_fun, body_fun, x, known):
    """(the carry, None or the condition that is not known) by Python's `while`, which goes as far as `known(condition)`
    holds."""
    leaves = carry.given
    while known(condition := _condition(cond_fun(x))):
        if not bool(condition):
            return x, None
        leaves, x = carry.following(leaves, body_fun(x))
    return x, condition


def _condition(x):
    if type(x) is bool or type(x) is np.bool_:
        return x
    if shape_of(x) != ():
        raise ShapeError(f"while_loop: cond_fun must return one boolean, not {describe(x)} of shape {list(shape_of(x))}; "
                         "reduce it with any or all, or map the loop with vmap")  # fmt: skip
    if dtype_of(x).kind not in "biu":
        raise DTypeError(f"while_loop: cond_fun must return a boolean, not {describe(x)} of dtype {dtype_of(x)}; compare it")
    return x


def _as_programs(carry, cond_fun, body_fun, condition=None):
    """The last leaves. condition: what cond_fun has given for the first."""
    example = next((x for x in carry.given if not is_number(x)), None)
    trace = lambda leaves, lanes: subprogram("body", lambda *xs: carry.next(body_fun(carry.tree(xs))), leaves, lanes=lanes)
    body = carry.traced(trace, bottom(example))
    if not carry.leaves:
        return []
    asks = lambda *xs: [truth(_condition(cond_fun(carry.tree(xs))))]
    numbers = [x if kind is None else kind(0) for x, kind in zip(carry.leaves, carry.weak, strict=True)]
    (body, test), read = sharing_inputs([body, subprogram("test", asks, numbers, lanes=carry.lanes)])
    if condition is not None and test.acts:  # not once more for the first
        return _flagged(truth(condition), read, carry.leaves, test, body)
    return as_numbers(loop(*read, *carry.leaves, test=test, body=body, constants=len(read)), carry.weak)


def _flagged(going, read, leaves, test, body):
    """The last leaves of a loop whose condition is carried, too: `going` is the first."""
    flag, fixed = Var(Aval((), np.dtype(bool))), body.inputs[: len(read)]

    def advance(*xs):
        now = evaluate(body, [*xs[: len(read)], *xs[len(read) + 1 :]])
        return [*evaluate(test, [*xs[: len(read)], *now]), *now]

    inputs = [*fixed, flag, *body.inputs[len(read) :]]
    asks = subprogram(test.name, lambda *xs: [xs[len(read)]], inputs, hoist=False)[0]
    step = subprogram(body.name, advance, inputs, hoist=False)[0]
    return loop(*read, going, *leaves, test=asks, body=step, constants=len(read))[1:]


def kept_while(cond_fun, body_fun, init):
    """`while_loop` for a body that returns (next carry, a tuple of outputs): (last carry, the outputs of all steps, stacked).

    How source code of programs writes a loop whose steps keep something for the way back.
    """
    carry = Carry("kept_while", "body_fun", init)
    example = bottom(next((x for x in carry.given if not is_number(x)), None))

    def step(*xs):
        now, outputs = body_fun(carry.tree(xs))
        return [*carry.next(now), *outputs]

    body = carry.traced(lambda leaves, lanes: subprogram("body", step, leaves, lanes=lanes), example)
    asks = lambda *xs: [truth(_condition(cond_fun(carry.tree(xs))))]
    (body, test), read = sharing_inputs([body, subprogram("test", asks, carry.leaves, lanes=carry.lanes)])
    results = loop(*read, *carry.leaves, test=test, body=body, constants=len(read))
    return carry.tree(results[: len(carry.leaves)]), tuple(results[len(carry.leaves) :])


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], T], init: Any) -> T:
    """Repeat `x = body_fun(i, x)` for i = lower, …, upper - 1, from x = init on.

    lower, upper: integers; a number of steps that is known when the loop is traced makes it a `scan`. body_fun: function of
    the step's number and the carry. init, result and errors as for `while_loop`.

    >>> import polyad as pa
    >>> float(pa.grad(lambda x: pa.fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0))
    12.0
    """
    for bound in (lower, upper):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise DTypeError(f"fori_loop: the bounds are integers, not {describe(bound)}; use int or astype")
    state = Carry("fori_loop", "body_fun", (lower, init), within="[1]")
    advance = lambda s: (s[0] + 1, body_fun(s[0], s[1]))
    if not (decided(lower) and decided(upper)):
        return _while(state, lambda s: s[0] < upper, advance, (lower, init))[1]
    first, last = int(concrete(lower)), int(concrete(upper))
    if recording():
        step = lambda s, nothing: (advance(s), None)
        as_program = lambda: scanned(state, step, ([], tree.structure(None)), max(last - first, 0))[0][1]
        return in_python(as_program, lambda: _counting_in_python(first, last, body_fun, init))
    return _counting_in_python(first, last, body_fun, init)


def _counting_in_python(first, last, body_fun, x) -> Any:
    carry = Carry("fori_loop", "body_fun", x)
    leaves = carry.given
    for i in range(first, last):
        leaves, x = carry.following(leaves, body_fun(i, x))
    return x


# ---------------------------------------------------------------------- the operation
@opaque(kernel=None, numpy=(), spelled="while_loop", no_rule=dict.fromkeys(("jvp", "vjp", "batch", "samples"),
    "layers lift the programs instead"))  # fmt: skip
def loop(*arrays, test, body, constants):
    """The carry, and the outputs of the steps stacked, a tuple, after steps of `body` for as long as `test` holds.

    arrays: first as many `constants`, which both programs read, then the carry. test: program with one boolean as result.
    body: program whose results are the next carry, and the step's outputs, the first of which, if there are any, says whether
    the step counts (of lanes that have stopped it does not). Raises ShapeError.
    """


@loop.method
def loop_run(*arrays: Array, test, body, constants):
    fixed, now, outputs = arrays[:constants], arrays[constants:], []
    carry = len(now)
    while evaluate(test, (*fixed, *now))[0]:
        results = evaluate(body, (*fixed, *now))
        now = results[:carry]
        outputs.append(results[carry:])
    return (*now, *stacked(outputs, body, carry, arrays))


@loop.rule("shape")
def loop_shape(*arrays, test, body, constants):
    check_arguments("loop", test, arrays)
    check_arguments("loop", body, arrays)
    carry = arrays[constants:]
    check_carry("loop", body, carry)
    if avals_out(test) != [Aval((), np.dtype(bool))]:
        raise ShapeError(f"loop: the test gives {', '.join(map(str, avals_out(test)))}, not one boolean")
    return (*[aval_of(x) for x in carry], *rows_out(body, len(carry), None))


@loop.rule("lanes")
def loop_lanes(body, **others):
    return lanes_out(body)


@loop.rule("code")
def loop_code(writer, inputs, outputs, test, body, constants):
    fixed, carry = inputs[:constants], len(inputs) - constants
    asks = writer.function(test, fixed, (carry,), "one")
    kept = len(body.outputs) - carry
    step = writer.function(body, fixed, (carry,), (carry, kept) if kept else None)
    called = f"({asks}, {step}, {tuple_of(inputs[constants:])})"
    if not kept:
        return f"{tuple_of(outputs)} = pa.while_loop{called}"
    return f"{tuple_of(outputs[:carry])}, {tuple_of(outputs[carry:])} = pa.dsl.control.kept_while{called}"


@loop.rule("lift")
def loop_lift(lift, args, test, body, constants):
    fixed, count = [lift.mine(x) for x in args[:constants]], len(args) - constants
    end = len(body.outputs) - count

    def step(carry):
        program, followed = lift.program(body, [*fixed, *carry], [*carry, *[False] * end])
        return (program, followed[count:]), followed[:count]

    (below, rows), carry = fixpoint(step, [lift.mine(x) for x in args[constants:]])
    asks, undecided = lift.program(test, [*fixed, *carry])
    if any(undecided):
        if test.acts or body.acts:
            return lift.one_by_one(loop, args, {"test": test, "body": body, "constants": constants})
        carry, rows = [True] * count, [True] * end
        asks, below = lift.until_all_stop(test, body, [*fixed, *carry], count)
    flat = lift.all_below(args, [*fixed, *carry])
    first = len(lift.all_below(args[:constants], fixed))
    results = iter(loop(*flat, test=asks, body=below, constants=first))
    return [*lift.all_above(results, carry), *[lift.rows_above(results, m) for m in rows]]


@loop.rule("pull")
def loop_pull(split, xs, mine, test, body, constants):
    carry, count = len(xs) - constants, len(body.outputs)
    found = forward_steps(split, body, mine, constants, carry, counts=True)
    forward = found.forward if count > carry else _counting(found.forward, carry)
    results = loop(*xs, test=test, body=forward, constants=constants)
    going = results[carry]
    results = results if count > carry else (*results[:carry], *results[carry + 1 :])
    back = lambda cts: found.back(steps_of, mine, cts, xs, results, [going], None, True)
    return results[:count], found.followed, back


def _counting(program, carry):
    """The program with an output, the first, that says of each step that it counts."""
    counts = Var(Aval((), np.dtype(bool)))
    outputs = [*program.outputs[:carry], counts, *program.outputs[carry:]]
    constants = [*program.constants, (counts, np.asarray(True))]
    return flat_program(program.name, program.inputs, constants, program.equations, outputs)
