"""The operation behind a function with derivative rules of its own, and what each layer does with it.

`custom_call(*arrays, call=…)` runs the user's code, so no layer can hand it over to rules written in operations alone:
derivatives run the user's rule on the values below them, a map hands on the mapped function, which has the mapped rule, and
a trace records one equation. What the rule does not know of, values that the function reads from outside of its arguments, is
followed through the function itself: results may be values of the very transformation whose rule is run.
"""

from contextvars import ContextVar

from ...dispatch import (
    Array,
    ConcreteValueError,
    Layer,
    LeakedLayerError,
    MissingRuleError,
    StructureError,
    check_runs,
    settled,
    snapshot,
)
from ...dsl import add, opaque
from ...dsl.avals import aval_of, is_number
from ...dsl.ir.programs import Program, Var, without_dead_code
from ...dsl.layers.batching import Batched
from ...dsl.layers.tracing import Traced, TraceRun
from ...dsl.ops.create import zeros_like
from ..forward.duals import Dual
from ..inputs import inexact
from ..reverse.depths import below_depth
from ..reverse.nodes import Joint
from ..reverse.rules import transpose
from ..reverse.tape import Reverse, ReverseRun, several_values
from ..reverse.walk import nan_safe_walk
from ..rules.projection import match_tangent
from .batched_call import MappedCall, ReadsDeeper, reads_outside

# (function, run, avals) of the forward rules that are being recorded here, to be transposed
_recording: ContextVar[tuple] = ContextVar("recording", default=())


@opaque(kernel=None, numpy=(), spelled="custom_vjp", no_rule={
    "samples": "it takes functions; tests/ad/custom/test_functions.py has examples",
    "batch": "its rule layered says what a map does",
})  # fmt: skip
def custom_call(*arrays, call):
    """The results of a function with rules of its own, as a tuple.

    arrays: of the shapes and dtypes that the function takes. call: the function and its rules. Raises ShapeError.
    """


@custom_call.method
def custom_call_run(*arrays: Array, call):
    return tuple(call.function(*arrays))


def bind(call, xs):
    """The results of a call. Where the function reads values of a transformation deeper than all arguments, these become
    values of it too, so that it is there that the rule is used."""
    deepest = None
    while True:
        try:
            return custom_call(*xs, call=call)
        except ReadsDeeper as signal:
            run = signal.run
            if signal.call is not call:
                raise
            if deepest is not None and run.depth <= deepest or not any(map(inexact, xs)):
                raise reads_outside(call, run) from None
            deepest = run.depth
            xs = [run.constant(x) if inexact(x) and _depth(x) < deepest else x for x in xs]


def _depth(x):
    return x.depth if isinstance(x, Layer) else -1


# ---------------------------------------------------------------------- standard rules, for whoever reads cards
@custom_call.rule("shape")
def custom_call_shape(*avals, call):
    return tuple([aval_of(v) if is_number(v) else v.aval for v in custom_call_inline(*avals, call=call).outputs])


@custom_call.rule("inline")
def custom_call_inline(*avals, call):
    """The function's own program: what source code and pictures show."""
    run = TraceRun(call.name)
    inputs = [Var(aval_of(a)) for a in avals]
    lanes = getattr(call, "run", None)
    if lanes is not None and not lanes.closed:  # the function runs in that pass, so the trace lies below it
        run.depth = below_depth(lanes.depth)
        outputs = _traced(call, inputs, run)
        run.close()
    else:
        with run:
            outputs = _traced(call, inputs, run)
    for _, read in run.constants.values():
        if isinstance(read, Layer) and read.run.records:
            raise reads_outside(call, read.run)
    equations, needed = without_dead_code(run.equations, outputs)
    constants = [pair for pair in run.constants.values() if pair[0] in needed]
    return Program(call.name, inputs, constants, equations, outputs, None, None)


def _traced(call, inputs, run):
    return [run.atom(y) for y in call.function(*[Traced[run.depth](v, run) for v in inputs])]


@custom_call.rule("jvp")
def custom_call_jvp(dxs, y, *xs, call):
    if call.has_push:
        return tuple(call.push(list(dxs), xs)[1])
    ys, saved, back = call.forward(xs)
    dense = [i for i, v in enumerate(ys) if inexact(v)]
    linear = lambda *cts: tuple(back(saved, _spread(cts, dense, len(ys))))
    return tuple(_spread(transpose(call.name, linear, [ys[i] for i in dense], dxs), dense, len(ys)))


@custom_call.rule("vjp_all")
def custom_call_vjp(ct, y, *xs, call):
    if call.has_pull:
        _, saved, back = call.forward(xs)
        return tuple(back(saved, list(ct)))
    dense = [i for i, v in enumerate(xs) if inexact(v)]
    linear = lambda *dxs: tuple(call.push(_spread(dxs, dense, len(xs)), xs)[1])
    return tuple(_spread(transpose(call.name, linear, [xs[i] for i in dense], ct), dense, len(xs)))


def _spread(values, places, count):
    """A list of `count` entries with the values at these places, None elsewhere."""
    found = dict(zip(places, values, strict=True))
    return [found.get(i) for i in range(count)]


# ---------------------------------------------------------------------- what the layers do
def forward_target(cls, types):
    """Values with tangents: the forward rule, or the reverse rule transposed."""
    mine = [t is cls for t in types]
    whose = mine.index(True)

    def run(*args, call):
        r = args[whose].run
        check_runs(r, args, cls)
        xs = [a.primal if m else a for a, m in zip(args, mine, strict=True)]
        dxs = [a.tangent if m else None for a, m in zip(args, mine, strict=True)]
        below = lambda v: _below(v, cls, r, call, "primal")
        ys, dys = call.push(dxs, xs) if call.has_push else _pushed_by_reverse(call, dxs, xs, cls, below)
        results = []
        for y, dy in zip(ys, dys, strict=True):
            t = y.tangent if type(y) is cls else None
            y, dy = below(y), below(dy)
            if dy is not None:
                dy = match_tangent(dy, y, call.name)
                t = dy if t is None else add(t, dy)
            results.append(y if t is None else r.wrap(y, t))
        return tuple(results)

    return run


def _pushed_by_reverse(call, dxs, xs, cls, below):
    ys, saved, back = call.forward(xs)
    saved = [below(s) for s in saved]
    between = _between(cls, call)
    cts = [between.input(zeros_like(below(y))) if inexact(y) else None for y in ys]
    try:
        found = [below(c) for c in back(saved, cts)]
    except ConcreteValueError as error:
        raise MissingRuleError(
            f"{call.name}: its backward could not be transposed for forward mode ({error}); write it in operations that are "
            "linear in the cotangent, or give a forward rule too, with .defjvp(rule)"
        ) from error
    between.close()
    places = [between.unwrap(c)[1] for c in found]
    seeds = [(p, dx) for p, dx in zip(places, dxs, strict=True) if p is not None and dx is not None]
    walk = lambda: between.walk_back(seeds, sum(c is not None for c in cts))
    tangents = iter(nan_safe_walk(walk, lambda: not between.required))
    return ys, [None if c is None else next(tangents) for c in cts]


def reverse_target(cls, types):
    """Values on a tape: one node, with the reverse rule, or the forward rule transposed."""
    mine = [t is cls for t in types]
    places = [i for i, m in enumerate(mine) if m]

    def run(*args, call):
        r = args[places[0]].run
        check_runs(r, args, cls)
        xs = [snapshot(a.value) if m else a for a, m in zip(args, mine, strict=True)]
        below = lambda v: _below(v, cls, r, call, "value")
        recording = _recording.get()
        if recording and not call.has_pull and (call.custom, r, list(map(aval_of, xs))) in recording:
            raise MissingRuleError(
                f"{call.name} has no reverse derivative: its forward rule calls it with the tangents, which says nothing of "
                "its transpose; give it .defvjp(forward, backward) too, or write the rule in other operations"
            )
        ys, pull = (_pullback_of if call.has_pull else _pulled_by_forward)(call, xs, places, cls, below)
        own = [j for j, y in enumerate(ys) if type(y) is cls]  # followed through the function itself
        parents = (*[args[i].index for i in places], *[ys[j].index for j in own])
        ys = [below(y) for y in ys]
        rule = lambda ct, y: [*pull(list(ct)), *[ct[j] for j in own]]
        r.append((Joint(rule), (), tuple(map(aval_of, ys)), parents))
        return several_values(cls, r, tuple(ys), keep=aval_of)  # the tape keeps no array

    return run


def _pullback_of(call, xs, places, cls, below):
    """The results, and the function of their cotangents that gives those of the arguments at `places`."""
    ys, saved, back = call.forward(xs)
    saved = [below(s) for s in saved]

    def pull(cts):
        try:
            found = back(saved, cts)
        except LeakedLayerError as error:
            raise LeakedLayerError(
                f"{call.name}: its backward reads a value from outside that is gone by then ({error}); have forward save it"
            ) from error
        return [found[i] for i in places]

    return ys, pull


def _pulled_by_forward(call, xs, places, cls, below):
    between, outer, avals = _between(cls, call), _recording.get(), list(map(aval_of, xs))
    dxs = [between.input(zeros_like(x)) if i in places else None for i, x in enumerate(xs)]
    token = _recording.set((*outer, (call.custom, between, avals)))
    try:
        ys, dys = call.push(dxs, xs)
    finally:
        _recording.reset(token)
    between.close()
    if any(isinstance(below(y), Reverse) and below(y).run is between for y in ys):
        raise StructureError(f"{call.name}: the value that its rule returns depends on the tangents; it must not")
    followed = [None if dy is None else between.unwrap(below(dy))[1] for dy in dys]

    def pull(cts):
        seeds = [(index, c) for index, c in zip(followed, cts, strict=True) if index is not None and c is not None]
        return between.walk_back(seeds, len(places))

    return ys, pull


def _below(v, cls, run, call, name):
    """v without this layer; an error if it is of a deeper one, whose derivative would be lost."""
    v = settled(v)
    if type(v) is cls:
        if v.run is not run:
            raise run.foreign(v.run)
        return snapshot(getattr(v, name))
    if isinstance(v, Layer) and v.depth > cls.depth:
        raise ReadsDeeper(v.run, call)
    return v


def _between(cls, call):
    """A run of reverse mode whose values lie directly below those of a layer, above all that these hold."""
    run = ReverseRun(f"transpose of {call.name}")
    run.depth = below_depth(cls.depth)
    return run


def lanes_target(cls, types):
    """Values of lanes: the call of the mapped function, one layer down."""
    replicated = cls.companion[cls.depth]
    kinds = tuple(["lanes" if t is cls else "same" if t is replicated else "outside" for t in types])
    whose = kinds.index("lanes")

    def run(*args, call):
        r = args[whose].run
        check_runs(r, args, cls, replicated)
        xs = [a if kind == "outside" else a.value for a, kind in zip(args, kinds, strict=True)]
        ys = bind(MappedCall(call, r, kinds), xs)
        return tuple([Batched[cls.depth](y, r) for y in ys])

    return run


def traced_target(cls, types):
    """Values of a trace: one equation; where Python asks for a value inside, the rest of a `jit` runs eagerly."""
    record = cls.target(custom_call.generic, types)
    whose = [t is cls for t in types].index(True)

    def run(*args, call):
        try:
            return record(*args, call=call)
        except ConcreteValueError:
            be_eager = getattr(args[whose].run, "be_eager", None)
            if be_eager is None:
                raise
        be_eager(f"Python asked for a value inside {call.name}; write the choice with where or cond there")
        return record(*args, call=call)

    return run


TARGETS = {Dual: forward_target, Reverse: reverse_target, Batched: lanes_target, Traced: traced_target}


@custom_call.rule("layered")
def custom_call_layered(cls, types):
    return next((make(cls, types) for kind, make in TARGETS.items() if issubclass(cls, kind)), None)
