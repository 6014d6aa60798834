"""A call of a function with rules of its own, for all lanes of a map at once."""

from typing import Any

from ...dispatch import AxisNameError, LaneSplitError, Layer, LeakedLayerError, snapshot
from ...dsl import broadcast_to, sum, vmap
from ...dsl.avals import shape_of
from ...dsl.layers.batching import Batched, Replicated


class ReadsDeeper(BaseException):
    """The function of a call read a value of a transformation that is deeper than the arguments. Not an Exception, so that
    user code does not catch it."""

    def __init__(self, run, call):
        self.run, self.call = run, call


def reads_outside(call, run):
    """The error for a function that reads, from outside of its arguments, a value that cannot be followed there."""
    return LeakedLayerError(
        f"{call.name} reads a value of {run.name} (entered at {run.where}) that is none of its arguments, and its rules know "
        "nothing of it; make it an argument"
    )


class MappedCall:
    """The function and the rules of a call, mapped over lanes along axis 0.

    As long as the map's pass is under way, they run in it: lanes may be split, axes are found by name, values of lanes from
    outside are met. Rules that are run later (backward, equations of a program) run in a map of their own.
    kinds: of each argument, whether it has "lanes", is the "same" in all by a collective, or lies "outside" of the map.
    """

    def __init__(self, call, run, kinds):
        self.call, self.run, self.kinds = call, run, kinds
        self.custom, self.name, self.has_push, self.has_pull = call.custom, call.name, call.has_push, call.has_pull
        self.axes = tuple([0 if kind == "lanes" else None for kind in kinds])

    def __repr__(self):
        return repr(self.call)

    def function(self, *xs):
        return self._over_lanes(lambda xs: self.call.function(*xs), [xs])

    def push(self, dxs, xs):
        ys, dys = self._over_lanes(lambda xs, dxs: list(self.call.push(dxs, xs)), [xs, dxs])
        return ys, dys

    def forward(self, xs):
        known: list[Any] = []

        def run(xs):
            ys, saved, back = self.call.forward(xs)
            known[:] = [back, [0 if _has_lanes(s, self.run) else None for s in saved]]
            return [ys, saved]

        kept = lambda s: s.value if isinstance(s, (Batched, Replicated)) and s.run is self.run else s
        ys, saved = self._over_lanes(run, [xs], kept)
        back, axes = known
        axes = [0] * len(saved) if self.run.closed else axes
        return ys, saved, lambda saved, cts: self._backward(back, axes, saved, cts)

    def _backward(self, back, axes, saved, cts):
        found = self._mapped(lambda saved, cts: back(saved, cts), (axes, 0))(list(saved), list(cts))
        shared = [kind != "lanes" for kind in self.kinds]
        return [c if c is None or not s else sum(c, axis=0) for c, s in zip(found, shared, strict=True)]

    def _over_lanes(self, f, columns, keep=None) -> Any:
        """Lists of results of f for lists of values of the arguments. keep: how results after the first list leave the map."""
        if self.run.closed:
            return self._mapped(f, (list(self.axes),) * len(columns))(*[list(c) for c in columns])
        results = f(*[[self._enter(x, kind) for x, kind in zip(c, self.kinds, strict=True)] for c in columns])
        leave = lambda y: None if y is None else self._leave(y)
        if len(columns) == 1 and keep is None:
            return [leave(y) for y in results]
        first, second = results
        return [leave(y) for y in first], [leave(y) if keep is None else keep(y) for y in second]

    def _mapped(self, f, axes):
        run = self.run
        if run.lanes is None and not run.axis.spans_processes:
            return vmap(f, in_axes=axes, axis_size=run.size, axis_name=run.axis.name)

        def part(*args):  # of all lanes, for which it must not pass
            try:
                return vmap(f, in_axes=axes, axis_size=run.size)(*args)
            except AxisNameError as error:
                raise LaneSplitError(
                    f"{self.name}: its rule runs after the end of {run.name}, for a part of the lanes (they took different "
                    f"paths, or lie in other processes), where there are no collectives ({error}); have forward save theirs"
                ) from error

        return part

    def _enter(self, x, kind):
        if x is None or kind == "outside":
            return x
        return (Batched if kind == "lanes" else Replicated)[self.run.depth](snapshot(x), self.run)

    def _leave(self, y):
        if isinstance(y, Layer) and y.depth == self.run.depth:
            if y.run is not self.run:
                raise self.run.foreign(y.run)
            if isinstance(y, Batched):
                return snapshot(y.value)
            y = y.value
        elif isinstance(y, Layer) and y.depth > self.run.depth:
            raise ReadsDeeper(y.run, self.call)
        return broadcast_to(y, shape=(self.run.size, *shape_of(y)))


def _has_lanes(x, run):
    return isinstance(x, Batched) and x.run is run
