"""How followed values take part in control flow: in forward mode each is a value and a tangent one layer down; in reverse mode
an operation runs forward now, keeps what it needs, and runs back later."""

from ..dispatch import Array, captured, check_runs
from ..dsl.axes import enclosing_axes
from ..dsl.card import programs_in
from ..dsl.control.batching import meets
from ..dsl.control.call import call
from ..dsl.control.lifting import Lift
from ..dsl.control.self_calls import deep_within, fill, quiet, remembered, unfinished, with_used
from ..dsl.control.subprograms import avals_out, decided, flat_program, lifted, subprogram, with_outputs
from ..dsl.ir.partitioning import partition_program
from ..dsl.ir.programs import Var, evaluate
from ..dsl.layers.tracing import in_trace
from ..dsl.ops.create import zeros_like
from .forward.duals import Dual, ForwardRun
from .reverse.nodes import Joint
from .reverse.tape import Reverse, ReverseRun, several_values
from .reverse.walk import nan_safe_walk
from .rules.projection import match_cotangent


class ForwardLift(Lift):
    """A followed value is its primal and its tangent; a program is followed by both."""

    def mine(self, x):
        return type(x) is Dual[self.run.depth] and x.tangent is not None  # as within a slope that is shared

    def below(self, x, mine):
        value, tangent = (x.primal, x.tangent) if type(x) is Dual[self.run.depth] else (x, None)
        if not mine:
            return [value]
        return [value, zeros_like(value) if tangent is None else tangent]

    def above(self, parts, mine):
        primal = next(parts)
        return self.run.wrap(primal, next(parts)) if mine else primal

    def program(self, program, mine, at_least=None):
        key = ("forward", tuple(mine), None if at_least is None else tuple(at_least))
        start = [False] * len(program.outputs) if at_least is None else at_least

        def stand_in(flags):
            inputs = [v for v, m in zip(program.inputs, mine, strict=True) for v in [v] * (1 + m)]
            outputs = [a for a, f in zip(avals_out(program), flags, strict=True) for a in [a] * (1 + f)]
            return unfinished(program.name, inputs, outputs, program.acts)

        return remembered(program, key, lambda: _forward(program, mine, at_least), start, stand_in)


def _forward(program, mine, at_least):
    followed = []

    def push(*flat):
        parts = iter(flat)
        with ForwardRun(program.name) as run:
            xs = [run.wrap(next(parts), next(parts)) if m else next(parts) for m in mine]
            pairs = [run.unwrap(y) for y in evaluate(program, xs)]
        results = []
        for i, (y, dy) in enumerate(pairs):
            wanted = dy is not None or at_least is not None and at_least[i]
            followed.append(wanted)
            results += [y, zeros_like(y) if dy is None else dy] if wanted else [y]
        return results

    inputs = [v for v, m in zip(program.inputs, mine, strict=True) for v in ([v, v] if m else [v])]
    return subprogram(program.name, push, inputs, hoist=False)[0], followed


def _forward_lift(run, args, params):
    """None where a trace follows the tangents alone, and Python knows the values: the program runs on these, and they stay
    known."""
    if run.outer is not None and not run.outer.of_values and not any(map(in_trace, args)):
        return None
    return ForwardLift(run)


Dual.lift = classmethod(lifted("lift", _forward_lift))


class Parts:
    """A program in two: `forward` gives its results and what the way back needs; `backward` takes that and the cotangents of
    the results that are `followed`, and gives those of the arguments that are. again: steps forward that are in `backward`,
    too."""

    def __init__(self, forward, backward, followed, again=()):
        self.forward, self.backward, self.followed, self.again = forward, backward, followed, again

    def fill(self, made):
        """Become the parts that were made with these as stand-ins."""
        fill(self.forward, made.forward)
        fill(self.backward, made.backward)
        self.again = made.again

    def economize(self):
        """Let the backward pass recompute only what it needs, and without effects."""
        made, program = {}, self.backward
        steps = [s for e in program.equations for s in (quiet([e], made) if e in self.again else [e])]
        whole = flat_program(program.name, program.inputs, program.constants, steps, program.outputs)
        fill(program, with_used(whole, [True] * len(whole.outputs)))


def split(program, mine, at_least=None, at_hand=((), ())):
    """The `Parts` of a program for a reverse derivative by the arguments `mine`.

    at_hand: places of inputs, and of results, that cost nothing to keep for the way back.
    """
    key = ("reverse", tuple(mine), None if at_least is None else tuple(at_least), at_hand)
    start = [False] * len(program.outputs) if at_least is None else at_least

    def make():
        parts = _split_deep(program, mine, at_least) if program.calls_itself else _split(program, mine, at_least, at_hand)
        return parts, parts.followed

    def stand_in(flags):
        wanted = [v for v, f in zip(program.outputs, flags, strict=True) if f]
        given = [v.aval for v, m in zip(program.inputs, mine, strict=True) if m]
        inputs, outputs = program.inputs, avals_out(program)
        forward = unfinished(program.name, inputs, [*outputs, *[v.aval for v in inputs]], program.acts)
        forward.calls_itself = False  # but the program does
        return Parts(forward, unfinished(program.name, [*inputs, *wanted], given), flags)

    known = program.lifted.get(key)
    parts, _ = remembered(program, key, make, start, stand_in)
    if known is None and program.calls_itself and key in program.lifted:  # else it is still under way
        parts.economize()
    return parts


def _split_deep(program, mine, at_least):
    """The `Parts` of a program that calls itself: what its way back needs are its arguments, from which each call computes anew
    what else it needs, however deep the calls go."""
    again = []
    whole, followed = _joint(program, mine, at_least, again)
    arguments_too = lambda *xs: [*call(*xs, program=program), *xs]
    forward, _ = subprogram(program.name, arguments_too, program.inputs, hoist=False)
    return Parts(forward, with_outputs(whole, whole.outputs[len(program.outputs) :]), followed, set(again))


def _split(program, mine, at_least, at_hand):
    whole, followed = _joint(program, mine, at_least)
    count, (inputs, results) = len(program.outputs), at_hand
    free = [*[whole.inputs[i] for i in inputs], *[whole.outputs[i] for i in results]]
    parts = partition_program(whole, count, sum(followed), free=free)
    return Parts(with_outputs(parts.first, [*parts.first.outputs[:count], *parts.saved]), parts.second, followed)


def _joint(program, mine, at_least, steps=None):
    """(program from the arguments and the cotangents of the followed results to the results and the cotangents of the arguments
    `mine`, which results are followed). steps: a list that is filled with its steps forward."""
    n, followed = len(program.inputs), []

    def record(*xs):
        with ReverseRun(program.name) as run:
            ys = evaluate(program, [run.input(x) if m else x for x, m in zip(xs, mine, strict=True)])
            return [run.unwrap(y) for y in ys], run

    def forward(*xs):
        pairs, _ = record(*xs)
        followed.extend([i is not None for _, i in pairs])
        return [y for y, _ in pairs]

    subprogram(program.name, forward, program.inputs, hoist=False)
    if at_least is not None:
        followed = [a or b for a, b in zip(followed, at_least, strict=True)]

    def joint(*flat):
        pairs, run = record(*flat[:n])
        if steps is not None:
            steps[:] = getattr(run.outer, "equations")  # noqa: B009  of a trace
        cts = iter(flat[n:])
        seeds = [(index, next(cts)) for (_, index), f in zip(pairs, followed, strict=True) if f]
        seeds = [(i, ct) for i, ct in seeds if i is not None]
        found = nan_safe_walk(lambda: run.walk_back(seeds, sum(mine)), lambda: not run.required)
        given = [x for x, m in zip(flat, mine, strict=False) if m]
        full = lambda ct, x: zeros_like(x) if ct is None else match_cotangent(ct, x, x, program.name)
        return [*[y for y, _ in pairs], *map(full, found, given)]

    # cotangents vary between the lanes, unless they are of what is the same in all
    named = {axis.name: False for axis in enclosing_axes() if axis.name is not None}
    wanted = [Var(v.aval, {**named, **v.lanes}) for v, f in zip(program.outputs, followed, strict=True) if f]
    return subprogram(program.name, joint, [*program.inputs, *wanted], hoist=False)[0], followed


def _reverse_target(cls, generic, types):
    """The target for operations on programs: forward now, with what the way back needs, and one node for all arguments."""
    rule, mine = generic.card.rules["pull"], [t is cls for t in types]
    whose = mine.index(True)
    own = next(m for m in generic.methods if Array in (*m.types, m.varargs)).implementation

    def run(*args, **params):
        r = args[whose].run
        check_runs(r, args, cls)
        if deep_within(params) and all([decided(x) for x in args]):  # the tape follows the calls that are made
            return own(*args, **params)
        xs = [a.value if m else a for a, m in zip(args, mine, strict=True)]
        ys, followed, pull = rule(split, xs, mine, **params)
        ys = tuple(ys)

        def back(ct, y, *xs):
            cts = [zeros_like(v) if c is None else c for c, v, f in zip(ct, ys, followed, strict=True) if f]
            summed = _summed(params, mine) if enclosing_axes() else [()] * len(given)
            matched = zip(pull(cts), given, summed, strict=True)
            return [match_cotangent(c, ys, x, generic.name, summed=axes) for c, x, axes in matched]

        given = [x for x, m in zip(xs, mine, strict=True) if m]
        r.append((Joint(back), tuple(xs), ys, tuple([a.index for a, m in zip(args, mine, strict=True) if m])))
        if meets(params):
            r.required.append(len(r.tape) - 1)
        return several_values(cls, r, ys, followed)

    return captured(generic, whose, run)


def _summed(params, mine):
    """For each argument `mine` of an operation on programs, the names of the axes along which it was the same in all lanes when
    the program was traced: along these the way back of the program sums its cotangent itself."""
    program = next(p for value in params.values() for p in programs_in(value))
    own = mine[len(mine) - len(program.inputs) :]  # without the choice that goes before
    return [[name for name, same in v.lanes.items() if same] for v, m in zip(program.inputs, own, strict=True) if m]


Reverse.lift = classmethod(_reverse_target)
