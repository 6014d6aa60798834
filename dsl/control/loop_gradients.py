"""The reverse derivative of a loop: what its steps keep for their way back, and the steps back."""

from ..avals import UNKNOWN, Aval, dtype_of, shape_of
from ..ir.programs import Var, evaluate
from ..layers.batching import lanes_of
from ..ops.arithmetic import add
from ..ops.compare import where
from ..ops.create import zeros_like
from .lifting import fixpoint
from .subprograms import subprogram, with_outputs


def forward_steps(split, body, mine, constants, carry, counts=False):
    """The `Forward` of a loop, made once."""
    fixed, rows = mine[:constants], mine[constants + carry :]
    count = len(body.outputs)
    flags = lambda now: [*now, *[False] * (count - carry)]
    given = tuple([j for j in range(len(mine)) if not constants <= j < constants + carry])
    at_hand = given, tuple(range(carry, count))

    def step(now):
        parts = split(body, [*fixed, *now, *rows], flags(now), at_hand)
        return parts, parts.followed[:carry]

    parts, now = fixpoint(step, mine[constants : constants + carry])
    key = ("steps", id(parts), constants, carry, counts)
    if key not in body.lifted:
        body.lifted[key] = Forward(parts, now, body, constants, carry, counts)
    return body.lifted[key]


class Forward:
    """The steps forward, for a derivative, and what is needed to make the steps back.

    parts: of the body, a program from (constants, carry, inputs) to (carry, outputs). now: which of the carry is followed.
    counts: the first output of a step says whether the step counts. forward: the body with what it keeps among its outputs.

    What the way back reads of a step is a constant, one of the step's inputs or outputs, the carry that it gave to the next
    step (which is what that was given), or kept for it.
    """

    def __init__(self, parts, now, body, constants, carry, counts):
        self.parts, self.now, self.body = parts, now, body
        self.constants, self.carry, self.counts, self.followed = constants, carry, counts, parts.followed
        count, forward = len(body.outputs), parts.forward
        shapes = [v.aval.shape for v, f in zip(body.outputs, self.followed, strict=True) if f]
        self.of_unknown_length = [UNKNOWN in shape for shape in shapes]  # only a value of theirs says how long a zero is
        kept, inputs, results = forward.outputs[count:], forward.inputs, forward.outputs[:count]
        self.same = [j for j in range(constants) if inputs[j] in kept]
        self.rows = [j for j in range(constants + carry, len(inputs)) if inputs[j] in kept]
        self.outputs = [j for j in range(carry, count) if results[j] in kept and results[j] not in results[carry:j]]
        known = {*[inputs[j] for j in [*self.same, *self.rows]], *[results[j] for j in self.outputs]}
        new = [v for v in dict.fromkeys(kept) if v not in known]
        before = inputs[constants : constants + carry]
        self.handed_on = [k for k in range(carry) if results[k] in new and before[k] in new and results[k] is not before[k]]
        self.handed_on = [k for k in self.handed_on if results[k] not in results[:k]]
        given = [results[k] for k in self.handed_on]
        self.new = [v for v in new if v not in given]
        self.forward = with_outputs(forward, [*results, *self.new])

    def back(self, steps, mine, cts, xs, results, rows, length, reverse):
        """The cotangents of the arguments `mine`, by running the steps back.

        steps: the operation. cts: of the results that are followed, None for zero. xs: the arguments. results: of the steps
        forward. rows: inputs of the steps back beside what was kept.
        """
        count, started = len(self.body.outputs), sum(self.now)
        ys = [y for y, f in zip(results, self.followed, strict=False) if f]
        cts = [zeros_like(y) if ct is None and v else ct for ct, y, v in zip(cts, ys, self.of_unknown_length, strict=True)]
        first = [zeros_like(y) if ct is None else ct for ct, y in zip(cts[:started], ys, strict=False)]
        sums = [zeros_like(x) for x, m in zip(xs[: self.constants], mine, strict=False) if m]
        present = tuple([ct is not None for ct in cts[started:]])
        same, last = [xs[j] for j in self.same], [results[k] for k in self.handed_on]
        rows = [*rows, *[xs[j] for j in self.rows], *[results[j] for j in self.outputs]]
        body = self._step_back(len(sums), present, rows)
        carried = [*first, *sums, *last]
        row_cts = [ct for ct in cts[started:] if ct is not None]
        found = steps(*same, *carried, *rows, *results[count:], *row_cts, body=body, constants=len(same), carry=len(carried),
                      length=length, reverse=reverse)  # fmt: skip
        begins = iter(found[:started])
        begins = [next(begins) if n else None for n in self.now]
        own = mine[self.constants : self.constants + self.carry]
        begins = [c for c, m in zip(begins, own, strict=True) if m]
        return [*found[started : started + len(sums)], *begins, *found[len(carried) :]]

    def _step_back(self, sums, present, rows):
        """(constants; cotangents of the carry, sums of those of the constants, the carry that the step gave; rows given, what
        the step kept, cotangents of its outputs) -> (cotangents of the carry before, sums, that carry; cotangents of the
        inputs)."""
        avals = [Var(Aval(shape_of(x)[1:], dtype_of(x)), lanes_of(x)) for x in rows]
        key = ("back", id(self), present, tuple([(v.aval, *v.lanes.items()) for v in avals]))
        if key not in self.body.lifted:
            self.body.lifted[key] = self._make_step_back(sums, present, avals)
        return self.body.lifted[key]

    def _make_step_back(self, sums, present, avals):
        backward, started, count = self.parts.backward, sum(self.now), len(self.body.outputs)
        inputs, results = self.parts.forward.inputs, self.parts.forward.outputs
        kept = results[count:]
        wanted = backward.inputs[len(kept) :]
        shown = [v for v, p in zip(wanted[started:], present, strict=True) if p]
        before = [inputs[self.constants + k] for k in self.handed_on]
        groups = [
            [inputs[j] for j in self.same], wanted[:started], backward.outputs[:sums], [results[k] for k in self.handed_on],
            avals, self.new, shown,
        ]  # fmt: skip
        meets = any(["axis_name" in e.params for e in backward.equations])
        own = [*[inputs[j] for j in self.rows], *[results[j] for j in self.outputs]]

        def run(*xs):
            xs = iter(xs)
            same, cts, totals, given, beside, new, row_cts = [[next(xs) for unused in group] for group in groups]
            before_step, values = cts, dict(zip(groups[0], same, strict=True))
            values.update(zip(own, beside[len(beside) - len(own) :], strict=True))
            values.update(zip([*groups[3], *self.new], [*given, *new], strict=True))
            row_cts = iter(row_cts)
            zero = lambda v: zeros_like(cts[0] if cts else beside[0], shape=v.aval.shape, dtype=v.aval.dtype)
            outs = [next(row_cts) if p else zero(v) for v, p in zip(wanted[started:], present, strict=True)]
            if self.counts and meets:  # nothing of a lane that has stopped
                cts, outs = [[where(beside[0], x, zeros_like(x)) for x in part] for part in (cts, outs)]
            found = evaluate(backward, [*[values[v] for v in kept], *cts, *outs])
            now = [*found[sums : sums + started], *[add(t, ct) for t, ct in zip(totals, found[:sums], strict=True)]]
            now += [values[v] for v in before]
            rows = found[sums + started :]
            if self.counts:
                now = [where(beside[0], x, old) for x, old in zip(now, [*before_step, *totals, *given], strict=True)]
                rows = [where(beside[0], x, zeros_like(x)) for x in rows]
            return [*now, *rows]

        return subprogram("back", run, [v for group in groups for v in group], hoist=False)[0]
