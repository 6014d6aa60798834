"""A choice between functions: `cond` by a boolean, `switch` by a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Array, ConcreteValueError, DTypeError, ShapeError, StructureError, describe, tree
from ..avals import UNKNOWN, Aval, dtype_of, shape_of
from ..card import opaque
from ..ir.programs import evaluate
from ..ir.source import tuple_of
from ..layers.splitting import concrete
from ..layers.tracing import in_trace
from ..ops.arithmetic import maximum, minimum
from ..ops.complex import astype
from ..ops.shape import broadcast_to
from .recursion_check import CallsItself, choosing, finished, under_way
from .self_calls import with_used
from .subprograms import (
    alike,
    answered,
    as_array,
    as_numbers,
    ask_python,
    avals_out,
    check_arguments,
    decided,
    in_python,
    joined_lanes,
    lanes_out,
    sharing_inputs,
    sources_of,
    subprogram,
    truth,
    with_outputs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...dispatch.annotations import T, X


def cond(condition: Any, true_fun: Callable[..., T], false_fun: Callable[..., X], *operands: Any) -> T | X:
    """`true_fun(*operands)` where the condition holds, else `false_fun(*operands)`.

    condition: one boolean (or number). true_fun, false_fun: functions of the operands (arrays or trees) that return trees
    of the same structure, shapes and dtypes; they may read values from outside, and call the function around them.
    Eagerly and under derivatives only the chosen one runs, as by Python's `if`. In a trace both become programs, of which one
    runs; under `vmap` with lanes that disagree each lane has its own. Returns the function's result. Raises ShapeError,
    DTypeError for a condition that is no single number, StructureError for results that differ.

    >>> import polyad as pa
    >>> float(pa.grad(lambda x: pa.cond(x > 1, lambda: x**2, lambda: -x))(3.0))
    6.0
    """
    _one_number("cond", condition, "biuf")
    if decided(condition):
        return true_fun(*operands) if bool(concrete(condition)) else false_fun(*operands)
    return _call_branch("cond", truth(condition), (false_fun, true_fun), operands)


def switch(index: Any, branches: Iterable[Callable[..., T]], *operands: Any) -> T:
    """`branches[index](*operands)`, with the index brought into range; all else as for `cond`.

    index: one integer. branches: functions.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda i: pa.switch(i, [lambda: 1.0, lambda: 2.5]))(np.array([0, 1, 7]))
    array([1. , 2.5, 2.5])
    """
    branches = tuple(branches)
    if not branches:
        raise ShapeError("switch: there is no branch; give a list of functions")
    _one_number("switch", index, "iu")
    if decided(index):
        return branches[min(max(int(concrete(index)), 0), len(branches) - 1)](*operands)
    return _call_branch("switch", minimum(maximum(index, 0), len(branches) - 1), branches, operands)


def _one_number(name, x, kinds):
    if shape_of(x) != ():
        raise ShapeError(f"{name}: the choice is by one number, not by {describe(x)} of shape {list(shape_of(x))}; reduce it "
                         "with any or all, use where, or map the function with vmap")  # fmt: skip
    if dtype_of(x).kind not in kinds:
        wanted = "an integer" if kinds == "iu" else "a boolean"
        raise DTypeError(f"{name}: the choice is by {wanted}, not by {describe(x)} of dtype {dtype_of(x)}; use astype")


def _call_branch(name, index, functions, operands):
    key = None

    def as_programs():
        nonlocal key
        with choosing(functions, operands) as key:
            try:
                return _as_programs(name, index, functions, operands)
            except StructureError:  # results that differ
                ask_python()
                raise

    try:
        return in_python(as_programs, lambda: functions[int(index)](*operands))
    except CallsItself as signal:
        if signal.key != key or under_way(key):
            raise
        if in_trace(index) and not answered():
            raise ConcreteValueError(
                f"{name}: a function in it calls the function around it, which a trace cannot follow to its end; put "
                "polyad.jit on that function"
            ) from None
    return functions[int(index)](*operands)  # lanes that disagree are split, as by Python's if


def _as_programs(name, index, functions, operands):
    leaves, structure = tree.flatten(operands)
    shapes = []

    def flat(f):
        def call(*xs):
            values, shape = tree.flatten(f(*tree.unflatten(structure, list(xs))))
            shapes.append((shape, tree.unflatten(shape, list(range(len(values))))))
            return values

        return call

    made = finished([lambda i=i, f=f: subprogram(f"{name}_{i}", flat(f), leaves) for i, f in enumerate(functions)])
    for shape, _ in shapes:
        if shape != shapes[0][0]:
            raise StructureError(
                f"{name}: its functions return different structures: {tree.show(shapes[0][0])} and {tree.show(shape)}"
            )
    programs, read = sharing_inputs(made)
    if not programs[0].outputs and not any(p.acts for p in programs):
        return tree.unflatten(shapes[0][0], [])
    programs, kinds = alike(name, tree.paths(shapes[0][1]), programs, index)
    leaves = [as_array(x, index) for x in leaves]
    results = choice(astype(index, dtype="int64"), *read, *leaves, branches=tuple(programs))
    return tree.unflatten(shapes[0][0], as_numbers(results, kinds))


# ---------------------------------------------------------------------- the operation
@opaque(kernel=None, numpy=(), spelled="cond", no_rule=dict.fromkeys(("jvp", "vjp", "batch", "samples"),
    "layers lift the programs instead"))  # fmt: skip
def choice(index, /, *operands, branches):
    """The results of `branches[index]` for the operands, as a tuple.

    index: an integer in range, shape (). branches: programs of the same arguments and results. Raises ShapeError.
    """


@choice.method
def choice_run(index: Array, *operands: Array, branches):
    return tuple(evaluate(branches[int(index)], operands))


@choice.rule("shape")
def choice_shape(index, *operands, branches):
    for branch in branches:
        check_arguments("choice", branch, operands)
    return tuple(map(_result_aval, zip(*map(avals_out, branches), strict=True)))


def _result_aval(avals):
    """Shape and dtype of a result of which the branches may give different lengths, if these are known only when they run."""
    lengths = zip(*[a.shape for a in avals], strict=True)
    return Aval(tuple([UNKNOWN if UNKNOWN in n else n[0] for n in lengths]), avals[0].dtype)


@choice.rule("lanes")
def choice_lanes(branches):
    return [joined_lanes(column) for column in zip(*map(lanes_out, branches), strict=True)]


@choice.rule("code")
def choice_code(writer, inputs, outputs, branches):
    index, *operands = inputs
    names = [writer.function(b, operands, (), None, "branch") for b in branches]
    called = f"pa.switch({index}, [{', '.join(names)}])"
    return f"{tuple_of(outputs)} = {called}" if outputs else called


@choice.rule("enter")
def choice_enter(index, *operands, branches):
    return (branches[int(concrete(index))], operands) if decided(index) else None


@choice.rule("prune")
def choice_prune(used, branches):
    return {"branches": tuple([with_used(b, used) for b in branches])}


@choice.rule("lift")
def choice_lift(lift, args, branches):
    index, *operands = args
    if lift.mine(index):
        return lift.choose(index, operands, branches)
    mine = [lift.mine(x) for x in operands]
    found = [lift.program(b, mine)[1] for b in branches]
    followed = [any(column) for column in zip(*found, strict=True)]
    programs = tuple([lift.program(b, mine, followed)[0] for b in branches])
    (which,) = lift.below(index, False)
    return lift.all_above(choice(which, *lift.all_below(operands, mine), branches=programs), followed)


@choice.rule("pull")
def choice_pull(split, xs, mine, branches):
    index, *operands = xs
    found = [split(b, mine[1:]).followed for b in branches]
    followed = [any(column) for column in zip(*found, strict=True)]
    parts = [split(b, mine[1:], followed) for b in branches]
    count, key = len(followed), ("choice", tuple(map(id, parts)))
    if key not in branches[0].lifted:
        branches[0].lifted[key] = (*_both_ways(parts, count), parts)
    forward, backward, given, _ = branches[0].lifted[key]
    results = choice(index, *operands, branches=forward)
    known = [operands[j] for j in given]
    return results[:count], followed, lambda cts: choice(index, *known, *results[count:], *cts, branches=backward)


def _both_ways(parts, count):
    """(forward branches, backward branches, which operands the latter read before what was kept)."""
    sources = [sources_of(p, count) for p in parts]
    given = sorted({j for source in sources for j in source if j is not None})
    outputs = [p.forward.outputs[count:] for p in parts]
    kept = [[v for v, j in zip(vs, s, strict=True) if j is None] for vs, s in zip(outputs, sources, strict=True)]
    slots, places = _shared_slots([[v.aval for v in values] for values in kept])
    forward = [
        _filling(with_outputs(p.forward, [*p.forward.outputs[:count], *values]), count, slots, at)
        for p, values, at in zip(parts, kept, places, strict=True)
    ]
    backward = [_reading(p, count, given, slots, at) for p, at in zip(parts, places, strict=True)]
    return tuple(forward), tuple(backward), given


def _shared_slots(wanted):
    """Lay what each branch keeps into as few values as possible: only one of the branches runs.

    wanted: per branch, shapes and dtypes. Returns those of the slots, and per branch the slot of each value.
    """
    slots, places = [], []
    for avals in wanted:
        free, at = list(range(len(slots))), []
        for aval in avals:
            slot = next((i for i in free if slots[i] == aval), len(slots))
            if slot == len(slots):
                slots.append(aval)
            else:
                free.remove(slot)
            at.append(slot)
        places.append(at)
    return slots, places


def _filling(program, count, slots, at):
    """The program with zeros in the slots that it has nothing for."""

    def run(*xs):
        results = evaluate(program, xs)
        kept = dict(zip(at, results[count:], strict=True))
        zero = lambda aval: broadcast_to(np.zeros((), aval.dtype), shape=tuple([max(n, 0) for n in aval.shape]))
        return [*results[:count], *[kept[i] if i in kept else zero(aval) for i, aval in enumerate(slots)]]

    return subprogram(program.name, run, program.inputs, hoist=False)[0]


def _reading(parts, count, given, slots, at):
    """The way back as a program of operands, all slots and the cotangents."""
    program, sources = parts.backward, sources_of(parts, count)
    operand = dict(zip(sources, program.inputs, strict=False))

    def run(*xs):
        known, kept = dict(zip(given, xs, strict=False)), iter(at)
        values = [xs[len(given) + next(kept)] if j is None else known[j] for j in sources]
        return evaluate(program, [*values, *xs[len(given) + len(slots) :]])

    first = [operand.get(j) or parts.forward.inputs[j] for j in given]
    return subprogram(program.name, run, [*first, *slots, *program.inputs[len(sources) :]], hoist=False)[0]
