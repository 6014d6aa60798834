"""How the lanes of a map take part in control flow: all lanes of a value make one value of the layer below."""

from typing import Any

import numpy as np

from ...dispatch import LaneSplitError, current_depth, isa
from ..array_libraries import asarray_like
from ..avals import UNKNOWN, Aval, dtype_of, ndim_of, shape_of
from ..axes import Axis, AxisName, resolved
from ..card import programs_in
from ..ir.programs import Var, evaluate
from ..layers.batching import Batched, LanesRun, Replicated
from ..layers.vmap import vmap
from ..ops.compare import equal, logical_and, where
from ..ops.complex import astype
from ..ops.create import arange_like, zeros_like
from ..ops.indexing import index as at_index
from ..ops.lengths import in_lanes, of_one_length
from ..ops.reduce import any as any_of
from ..ops.search import argmax
from ..ops.shape import broadcast_to, concatenate, moveaxis, reshape
from .cond import choice
from .lifting import Lift
from .scan import steps_of
from .self_calls import remembered, unfinished
from .subprograms import avals_out, lifted, recording, subprogram


class _Same:
    """The flag of a value that is the same in all lanes by a collective: one value, so not followed, but marked as such."""

    def __bool__(self):
        return False

    def __repr__(self):
        return "SAME"


UNCHANGED = _Same()


class _Lockstep(Axis):
    """A map's axis within the program for all of its lanes, which go one way."""

    def __init__(self, axis, depth):
        super().__init__(axis.name, axis.size, depth)
        self.outer, self.spans_processes, self.local, self.offset = axis, axis.spans_processes, axis.local, axis.offset
        self.takes = axis.takes

    def own(self, lanes):
        return self.outer.own(lanes)

    def across(self, how, value, here, own, **params):
        return self.outer.across(how, value, here, own, **params)


class LanesLift(Lift):
    """Values of all lanes, along axis 0; those that are the same in all lanes stay one value."""

    def mine(self, x):
        return type(x) is Batched[self.run.depth] or (UNCHANGED if type(x) is Replicated[self.run.depth] else False)

    def below(self, x, mine):
        own = self.mine(x)
        value = x if own is False else x.value
        return [value if own or not mine else self._in_all(value)]

    def _in_all(self, x):
        shape = shape_of(x)
        return in_lanes(x, self.run.size) if UNKNOWN in shape else broadcast_to(x, shape=(self.run.size, *shape))

    def above(self, parts, mine):
        value = next(parts)
        if mine:
            return Batched[self.run.depth](value, self.run)
        return Replicated[self.run.depth](value, self.run) if mine is UNCHANGED else value

    def rows_below(self, x, mine):
        (value,) = self.below(x, mine)
        return [moveaxis(value, 0, 1) if mine else value]

    def rows_above(self, parts, mine):
        return self.above(iter([moveaxis(next(parts), 1, 0)]), True) if mine else self.above(parts, mine)

    def program(self, program, mine, at_least=None):
        size = self.run.size
        key = ("lanes", size, self.run.counts, tuple(mine), None if at_least is None else tuple(at_least))
        start = [False] * len(program.outputs) if at_least is None else at_least
        wide = lambda a, m: Aval((size, *a.shape), a.dtype) if m else a

        def stand_in(flags):
            outputs = [wide(a, f) for a, f in zip(avals_out(program), flags, strict=True)]
            inputs = [Var(wide(v.aval, m)) for v, m in zip(program.inputs, mine, strict=True)]
            return unfinished(program.name, inputs, outputs, program.acts)

        return remembered(program, key, lambda: self._program(program, mine, at_least), start, stand_in)

    def _program(self, program, mine, at_least):
        size, followed = self.run.size, []
        known = names_axis(program, self.run.axis.name)

        def lanes(*xs):
            depth = current_depth() + 1
            axis = _Lockstep(self.run.axis, depth) if known else Axis(None, size, depth)
            axis.counts = self.run.counts
            run = LanesRun(program.name, axis, None, [])
            seen = lambda x, m: run.batched(x) if m else run.same(x) if m is UNCHANGED else x
            with axis, run:
                outs = evaluate(program, [seen(x, m) for x, m in zip(xs, mine, strict=True)])
            results = []
            for i, y in enumerate(outs):
                own = type(y) is Batched[run.depth] or (UNCHANGED if type(y) is Replicated[run.depth] else False)
                wide = own or at_least is not None and at_least[i]
                followed.append(wide or own)
                y = y if own is False else y.value
                results.append(self._in_all(y) if wide and not own else y)
            return results

        others = lambda v: {name: same for name, same in v.lanes.items() if name != self.run.axis.name}
        wide = lambda v, m: Aval((size, *v.aval.shape), v.aval.dtype) if m else v.aval
        inputs = [Var(wide(v, m), others(v)) for v, m in zip(program.inputs, mine, strict=True)]
        return subprogram(program.name, lanes, inputs, hoist=False)[0], followed

    def until_all_stop(self, test, body, mine, carry):
        """(test, body) of the loop over all lanes whose test differs between them: each lane keeps what it has when it stops.

        mine: which arguments have lanes. carry: how many of the body's results are carried on; the first of the others says
        whether the step counts, which it does in lanes that go on.
        """
        self._check_one_way("while_loop: the lanes stop at different steps, and a step calls", (test, body))
        asks, _ = self.program(test, mine, [True])
        step, _ = self.program(body, mine, [True] * len(body.outputs))

        def advance(*xs):
            going, results = evaluate(asks, xs)[0], evaluate(step, xs)
            now = [where(_beside(going, y), y, x) for x, y in zip(xs[-carry:], results[:carry], strict=True)]
            return [*now, *[logical_and(going, y) for y in results[carry:][:1]], *results[carry + 1 :]]

        inputs = asks.inputs
        whole = subprogram("test", lambda *xs: [any_of(evaluate(asks, xs)[0])], inputs, hoist=False)[0]
        return whole, subprogram("body", advance, inputs, hoist=False)[0]

    def _check_one_way(self, what, programs):
        """Not all lanes would be there. Raises LaneSplitError."""
        axis = self.run.axis
        if axis.name is not None and any([names_axis(p, axis.name) for p in programs]):
            raise LaneSplitError(f"{what} a collective over their axis {axis.name!r}; call it outside, or in all lanes alike")

    def choose(self, index, operands, branches):
        """Each lane's results of the branch that it chose."""
        mine = [self.mine(x) for x in operands]
        values = self.all_below(operands, mine)
        chosen = index.value
        concretely = isa(chosen, (np.ndarray, np.generic))
        if not concretely and any([b.acts for b in branches]):
            return self.one_by_one(choice, [index, *operands], {"branches": branches})
        self._check_one_way("cond: the lanes choose differently, and a function of it calls", branches)
        if concretely:
            results = self._by_groups(np.asarray(chosen), values, mine, branches)
        else:
            results = self._by_selection(chosen, values, mine, branches)
        return [Batched[self.run.depth](y, self.run) for y in results]

    def one_by_one(self, op, args, params):
        """An operation on programs with effects, which must not happen in lanes that do not come there: one lane after the
        other."""
        mine = [self.mine(x) for x in args]
        values = self.all_below(args, mine)
        mine = [bool(m) for m in mine]
        same, rows = [[x for x, m in zip(values, mine, strict=True) if m == own] for own in (False, True)]

        def lane(*xs):
            same, own = iter(xs[: len(mine) - sum(mine)]), iter(xs[len(mine) - sum(mine) :])
            return list(op(*[next(own if m else same) for m in mine], **params))

        inputs = [*[Aval(shape_of(x), dtype_of(x)) for x in same], *[Aval(shape_of(x)[1:], dtype_of(x)) for x in rows]]
        program = subprogram(op.__name__, lane, inputs, hoist=False)[0]
        results = steps_of(*same, *rows, body=program, constants=len(same), carry=0, length=self.run.size, reverse=False)
        return [Batched[self.run.depth](y, self.run) for y in results]

    def _by_groups(self, chosen, values, mine, branches) -> Any:
        """Each branch runs for the lanes that chose it."""
        groups = [(k, np.flatnonzero(chosen == k)) for k in range(len(branches))]
        groups = [(k, lanes) for k, lanes in groups if len(lanes)] or [(0, np.arange(0))]
        parts = []
        for k, lanes in groups:
            xs = [_lanes_of(x, lanes) if m else x for x, m in zip(values, mine, strict=True)]
            branch = lambda *xs, k=k: tuple(evaluate(branches[k], xs))
            parts.append(vmap(branch, [0 if m else None for m in mine], axis_size=len(lanes))(*xs))
        order = np.argsort(np.concatenate([lanes for _, lanes in groups]))
        columns: Any = zip(*parts, strict=True)
        return [_lanes_of(concatenate(_of_one_length(ys)), order) if len(ys) > 1 else ys[0] for ys in columns]

    def _by_selection(self, chosen, values, mine, branches) -> Any:
        """Each branch runs for all lanes, and `where` picks. It runs only if a lane chose it, and other lanes then run it with
        what that lane has: for their own it might not end, or not be defined."""
        results, guard = None, self.run.size > 0
        for k, branch in enumerate(branches):
            taken = equal(chosen, k)
            program, _ = self.program(branch, mine, [True] * len(branch.outputs))
            guarded = guard and not _is_harmless(branch)
            found = self._guarded(taken, program, values, mine) if guarded else evaluate(program, values)
            if results is None:
                results = found
            else:
                pairs = [_of_one_length(pair) for pair in zip(results, found, strict=True)]
                results = [where(_beside(taken, y), y, x) for x, y in pairs]
        return results

    def _guarded(self, taken, program, values, mine):
        lanes = where(taken, arange_like(taken, self.run.size), argmax(taken))
        xs = [_lanes_of(x, lanes) if m else x for x, m in zip(values, mine, strict=True)]
        shape = lambda v: tuple([max(n, 0) for n in v.aval.shape])
        nothing = lambda *xs: [zeros_like(xs[0], shape=shape(v), dtype=v.aval.dtype) for v in program.outputs]
        otherwise = subprogram("nothing", nothing, program.inputs, hoist=False)[0]
        return choice(astype(any_of(taken), dtype="int64"), *xs, branches=(otherwise, program))


def _of_one_length(ys):
    """Bring what branches give for one result to one length, where lengths are known only when they run."""
    shapes = [shape_of(y)[1:] for y in ys]
    differ = any([UNKNOWN in shape for shape in shapes]) or len(set(shapes)) > 1
    return of_one_length(ys, first=1) if differ else list(ys)


def _beside(mask, y):
    """A boolean per lane, to broadcast with values of all lanes."""
    return reshape(mask, shape=(*shape_of(mask), *(1,) * (ndim_of(y) - 1)))


def _lanes_of(x, lanes):
    return at_index(x, asarray_like(lanes, x) if isa(lanes, np.ndarray) else lanes, spec=("array",))


def _is_harmless(program):
    """Return whether it gives finite numbers for any, but for overflow."""
    return all([e.op.card.kind == "elementwise" and not e.op.card.singular and not e.op.card.raises for e in program.equations])


def names_axis(program, name=None):
    """Return whether a program, or one in it, runs along the axis of this name (None: any)."""
    axes = [e.params.get("axis_name") for e in collectives(program)]
    return any([isinstance(axis, AxisName) and name in (None, axis.name) for axis in axes])


def meets(params):
    """Return whether a program among the parameters of an operation holds a collective whose reverse rule all lanes, or all
    processes, must run or none: then the same holds for the operation."""
    steps = [e for value in params.values() for p in programs_in(value) for e in collectives(p)]
    return any([c is True or c(resolved(e.op, e.params)) for e in steps for c in [e.op.card.collective]])


def collectives(program):
    """The collective steps of a program, and of those in it."""
    known = program.lifted.get("collectives")
    if known is None:
        programs, known = [program], []
        for p in programs:  # which grows
            known += [e for e in p.equations if e.op.card.collective]
            inside = [q for e in p.equations for value in e.params.values() for q in programs_in(value)]
            programs += [q for q in dict.fromkeys(inside) if q not in programs]
        program.lifted["collectives"] = known
    return known


def _make(run, args, params):
    """None where a program runs along the map's own axis and lanes may go different ways: there the operation runs on values of
    the layer, whose axis knows how to bring its lanes together. In a trace they go one way."""
    if run.axis.name is None or recording() and run.lanes is None:
        return LanesLift(run)
    meets = any([names_axis(p, run.axis.name) for value in params.values() for p in programs_in(value)])
    return None if meets else LanesLift(run)


def _takes_steps(run, name, params):
    """Lanes that have parted stop at a collective in the midst of the steps, and run again from their start: each effect counts
    by itself then. What has happened as a whole, before they parted, is known as a whole."""
    known = run.happened_here()
    if known is not None:
        return known != name
    return run.lanes is not None and any([names_axis(p, run.axis.name) for v in params.values() for p in programs_in(v)])


LanesRun.takes_steps = _takes_steps  # type: ignore[method-assign]
for kind in (Batched, Replicated):
    kind.lift = classmethod(lifted("lift", _make))
