"""The batching layer: values with one axis of lanes, and how each operation acts on all lanes at once.

`Batched[d]` holds the lanes as axis 0 of its value. `Replicated[d]` is a value known to be the same in all lanes because
it came out of a collective: mixed with batched values, its cotangents are summed over the lanes.
"""

import math

import numpy as np

from ...dispatch import (
    LaneSplitError,
    Layer,
    Run,
    check_level,
    check_runs,
    layers_of,
    open_runs,
    several,
    snapshot,
)
from ..array_libraries import asarray_like
from ..avals import check_lanes, dtype_of, is_number, shape_of
from ..axes import Stacked, find_axis
from ..ops.create import arange_like
from ..ops.shape import broadcast_to
from .batch_rules import batch_rule
from .effect_log import Happened, recalled
from .mapped_inputs import pick
from .splitting import Need, answer_of_lanes, collective_text, concrete, fits, lane_numbers


class LanesRun(Run):
    """One pass of a mapped function over some of the lanes.

    lanes: their numbers among the lanes of this process (under jit an array that is not known), or None for all. log:
    results of the collectives so far.
    """

    __slots__ = ("acting", "asked", "axis", "effects", "enclosing", "example", "lanes", "log", "position", "size")

    def __init__(self, name, axis, lanes, log):
        super().__init__(name)
        self.axis, self.lanes, self.log = axis, lanes, log
        self.size = axis.local if lanes is None else len(lanes)
        self.position, self.enclosing, self.asked = 0, 0, 0
        self.effects, self.acting = 0, False  # how many there were in this pass, and whether one is under way
        self.example = None  # one of the mapped arrays, for arrays made on their device

    def __enter__(self):
        super().__enter__()
        self.axis.run, self.axis.answers = self, 0
        return self

    def __exit__(self, *error):
        self.axis.run = self.example = None  # no cycle, and no array, outlives the pass
        super().__exit__(*error)

    def batched(self, value):
        """A value with these lanes as axis 0, as the lanes see it."""
        if self.example is None or dtype_of(self.example).kind not in "fc":
            self.example = value
        return Batched[self.depth](snapshot(value), self)

    def constant(self, value):
        """A value for these lanes, the same in each for now."""
        return Batched[self.depth](broadcast_to(value, shape=(self.size, *shape_of(value))), self)

    @property
    def counts(self):
        return self.axis.counts

    @property
    def sees_effects(self):
        return not self.acting

    def same(self, value):
        return Replicated[self.depth](value, self)

    def once(self, name, perform):
        """The result of an operation with an effect. In an earlier pass, before the lanes went different ways, it may have
        happened in these lanes: then what it gave there."""
        axis, number = self.axis, self.effects
        self.effects += 1
        if axis.effects is None:
            axis.effects = [[] for _ in range(axis.local)]
        logs = axis.effects if self.lanes is None else [axis.effects[lane] for lane in lane_numbers(self.lanes)]
        if logs and all([len(log) > number for log in logs]):
            known = [log[number] for log in logs]
            for happened, _ in known:
                if happened.name != name:
                    raise LaneSplitError(
                        f"{self.name}: run again for some lanes, the function calls {name} where it called {happened.name} "
                        "before; it must do the same each time, and under jit no cond or while_loop may have effects and psum"
                    )
            return self._results(recalled(known), known[0][0].several)
        self.acting = True
        try:
            y = perform()
        finally:
            self.acting = False
        results = [self._stacked(v) for v in (y if isinstance(y, tuple) else (y,))]
        happened = Happened(name, results, isinstance(y, tuple))
        for place, log in enumerate(logs):
            log.append((happened, place))
        return self._results(results, happened.several)

    def happened_here(self):
        """The name of the effect that these lanes come to now, if it happened in an earlier pass; else None."""
        log = [] if not self.axis.effects else self.axis.effects[0 if self.lanes is None else lane_numbers(self.lanes)[0]]
        return log[self.effects][0].name if len(log) > self.effects else None

    def _stacked(self, x):
        own = type(x) is Batched[self.depth]
        return Stacked(snapshot(x.value if own or type(x) is Replicated[self.depth] else x), not own)

    def _results(self, stacked, several_results):
        """As the lanes see them; what is the same in all of them is a plain value."""
        values = tuple([s.value if s.same else Batched[self.depth](s.value, self) for s in stacked])
        return values if several_results else values[0]

    def numbers(self):
        """The numbers of these lanes along the whole axis."""
        lanes = self.lanes
        if lanes is None:
            lanes = arange_like(self.example, self.size)
        elif not isinstance(lanes, Layer):
            lanes = asarray_like(lanes, self.example)
        return self.axis.offset + lanes

    def collective(self, name, value, perform, own=False):
        """The result of one collective over all lanes: from the log, or run now, or asked for.

        It is the same in each lane, and known to be (`Replicated`) as long as the lanes go one way; once they have
        answered Python differently, each lane has its own (`Axis.varying`), and transposes sum over the lanes.

        name: the operation. value: `Stacked`, what these lanes give. perform: function of that of all lanes here. own: its
        result is each lane's own, along axis 0.
        """
        result = self._logged(self.log, self.position, name, value, perform)
        self.position += 1  # not for one that has failed: user code may go on all the same
        if own:
            return self.batched(result if self.lanes is None else pick(result, self.lanes))
        if self.axis.varying and not is_number(result):
            return self.constant(result)
        return Replicated[self.depth](result, self)

    def _logged(self, log, position, name, value, perform):
        """The result of a collective, the one at this position of a log."""
        signature = (name, value.shape, None if is_number(value.value) else str(dtype_of(value.value)))
        if position == len(log):
            if self.lanes is not None:
                raise Need(self, signature, value, perform, log)
            log.append((signature, perform(value)))
        logged, result = log[position]
        for axis in (self.axis, *self.axis.inside):
            axis.given(result.value if isinstance(result, Stacked) else result)
        if not fits(logged, signature):
            raise LaneSplitError(
                f"{self.name}: lanes that took different paths meet different collectives: {collective_text(logged)} and "
                f"{collective_text(signature)}; all lanes must call the same ones in the same order"
            )
        return result

    def over_an_enclosing_axis(self, op, value, params):
        """The result of a collective over the axis of an enclosing map, in which each lane here takes part by itself. All lanes
        here call it at once, and only once, though they may go different ways and run again. value: `Stacked`."""
        axis = params["axis_name"]

        def perform(lanes):
            if lanes.same:
                return Stacked(op(lanes.value, **params), True)
            return Stacked(op.card.rules["trace"](self.axis.local, lanes.value, **params), False)

        name = f"{op.card.public} over {axis!r}"
        result = self._logged(self.axis.around, self.enclosing, name, value, perform)
        self.enclosing += 1
        if not result.same:
            return self.batched(result.value if self.lanes is None else pick(result.value, self.lanes))
        return self.constant(result.value) if self.axis.varying else self.same(result.value)

    def is_replicated(self, x):
        """Return whether x is known to be the same in all lanes by a collective."""
        return self.axis in replicated_axes(x)

    def followed(self, x, lanes=False, beside=None):
        """x as a value of all derivatives that are taken inside this map.

        What is a constant in some lanes (a number, a zero cotangent) may depend on the argument in others, and the
        collectives of the derivative of a collective must be met in all. lanes: also of the maps inside this one, by which
        `jacfwd` has many tangents at once. beside: for a tangent, its value.
        """
        inside = [run for run in open_runs() if run.depth > self.depth]
        if beside is not None:  # the tangent is one of the next derivative inside of it
            depth = beside.depth if isinstance(beside, Layer) else self.depth
            its = [run.depth for run in inside if run.depth > depth and not isinstance(run, LanesRun)]
            inside = [run for run in inside if run.depth < min(its, default=math.inf)]
        inexact = dtype_of(x).kind in "fc"
        if inside and inexact and is_number(x):  # it would follow the dtype of what other lanes give
            follows = dtype_of(self.example).kind in "fc"
            x = np.asarray(x, np.result_type(x, dtype_of(self.example)) if follows else None)[()]
        return _followed(x, [run for run in inside if (lanes if isinstance(run, LanesRun) else inexact)])


def _followed(x, runs):
    """x as a value of all these runs, deepest first."""
    if not runs or isinstance(x, Layer) and x.below is None:
        return x
    run, *outer = runs
    if not isinstance(x, Layer) or x.depth < run.depth:
        return run.constant(_followed(x, outer))
    y = snapshot(x)
    setattr(y, "value" if "value" in x.state else "primal", _followed(x.below, outer if x.depth == run.depth else runs))
    return y


class _Lanes(Layer):
    """The common base of both kinds: concrete questions of Python and attributes."""

    __slots__ = ("run", "value")

    def __init__(self, value, run):
        self.value, self.run = value, run

    @property
    def dtype(self):
        return dtype_of(self.value)

    @property
    def below(self):
        """The value one layer down."""
        return self.value

    def standing(self):
        """As a loop's `x[k]`: numbers of NumPy's where no axis is left."""
        kind = super().standing()
        return self.dtype.type if kind is np.ndarray and not self.shape else kind

    def __repr__(self):
        return f"{type(self).__name__}({self.dtype}{list(self.shape)})"


class Replicated(_Lanes):
    """A value that is the same in all lanes."""

    __slots__ = ()

    @property
    def shape(self):
        return shape_of(self.value)

    def concrete(self):
        return concrete(self.value)

    @classmethod
    def target(cls, generic, types):
        spread = generic.spread
        mine = [t is cls for t in types]
        whose = mine.index(True)
        neutral = generic.card.rules.get("neutral")

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            if neutral is not None:
                if params["axis_name"].depth == cls.depth:
                    return neutral(args[whose].value, **params)
                return r.over_an_enclosing_axis(generic.function, Stacked(args[whose].value, True), params)
            y = spread(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
            return several(y, [cls(part, r) for part in y]) if isinstance(y, tuple) else cls(y, r)

        return run


def lanes_of(x):
    """The named axes of the maps around a value, under any layers -> whether it is the same in all lanes by a collective."""
    found = {}
    for part in layers_of(x):
        if isinstance(part, _Lanes):
            found.setdefault(part.run.axis.name, isinstance(part, Replicated))
        elif part.below is None:
            found = {**part.lanes, **found}
    return found


def replicated_axes(x):
    """The mapped axes along which a value, under any layers, is the same in all lanes by a collective."""
    found = []
    for part in layers_of(x):
        if isinstance(part, Replicated):
            found.append(part.run.axis)
        elif part.below is None:
            found += [find_axis(name, "a derivative") for name, same in part.lanes.items() if same]
    return found


class Batched(_Lanes):
    """One value per lane, along axis 0 of `value`."""

    __slots__ = ()
    companion = Replicated

    @property
    def shape(self):
        return shape_of(self.value)[1:]

    def concrete(self):
        return answer_of_lanes(self)

    @classmethod
    def target(cls, generic, types):
        card = generic.card
        batched = [t is cls for t in types]
        replicated = cls.companion[cls.depth]
        inside = [b or t is replicated for b, t in zip(batched, types, strict=True)]
        whose = batched.index(True)
        if "neutral" in card.rules:
            return _named_axis_target(cls, generic, batched, whose)
        rule = batch_rule(generic)

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls, replicated)
            xs = [a.value if i else a for a, i in zip(args, inside, strict=True)]
            y = rule(r.size, xs, batched, **params)
            check_level(generic, y, cls)
            if type(y) is not np.ndarray or y.shape[:1] != (r.size,):
                check_lanes(generic.name, y, r.size)
            return several(y, [cls(part, r) for part in y]) if isinstance(y, tuple) else cls(y, r)

        return run


def _named_axis_target(cls, generic, batched, whose):
    """Operations along a named axis: over these lanes if the axis is this map's, in each lane if it is an outer one."""
    card = generic.card

    def run(*args, axis_name, **params):
        r = args[whose].run
        check_runs(r, args, cls)
        xs = [a.value if b else a for a, b in zip(args, batched, strict=True)]
        if axis_name.depth == cls.depth:
            return card.rules["batch"](r, *xs, axis_name=axis_name, **params)
        return r.over_an_enclosing_axis(generic.function, Stacked(xs[0], False), {"axis_name": axis_name, **params})

    return run
