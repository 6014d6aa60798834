"""What a checkpoint keeps beside the arguments: results that its policy chooses, directly below the values on the tape."""

from contextlib import contextmanager
from typing import Any

from ...dispatch import Layer, MutationError, Run, several, snapshot
from ...dsl.avals import dtype_of
from ...dsl.layers.splitting import concrete
from ..reverse.depths import at_work, below_depth
from .policies import checkpoint_name

MUST_REPEAT = (
    "a function under a checkpoint must do the same each time: draw random numbers from keys, and change nothing outside"
)


class Kept(Layer):
    """A value, and the number of the operation that made it."""

    __slots__ = ("number", "run", "value")
    stepwise = True
    holds = "value"
    only_arrays = True

    def __init__(self, value, run, number=None):
        self.value, self.run, self.number = value, run, number

    def concrete(self):
        return concrete(self.value)

    @classmethod
    def target(cls, generic, types):
        spread, op = generic.spread, generic.function
        mine = [t is cls for t in types]
        whose = mine.index(True)

        def run(*args, **params):
            r = args[whose].run
            if r.closed:
                raise r.leaked()
            xs = [a.value if m else a for a, m in zip(args, mine, strict=True)]
            if r.passive:
                y, number = spread(*xs, **params), None
            else:
                y, number = r.step(op, spread, args[whose], xs, params)
            if isinstance(y, tuple):
                return several(y, [cls(part, r) for part in y])
            return cls(y, r, number)

        return run


class KeepingRun(Run):
    """One run of the function of a checkpoint: the first, which keeps results, or one again, which has them.

    policy: function(operation, params) -> whether to keep the result. names: of the operations called, in order, each with how
    many those around count for it. kept: number of an operation -> its result. passive: the function has ended, and the walk
    back goes on. around: runs of checkpoints around this one. tape: the run for whose derivative it keeps them.
    """

    __slots__ = ("again", "around", "count", "kept", "names", "passive", "policy", "tape")

    def __init__(self, name, policy, tape, first: Any = None):
        self.tape = tape
        super().__init__(name)
        self.policy, self.again = policy, first is not None
        self.names, self.kept = (first.names, first.kept) if self.again else ([], {})
        self.around = at_work.get()
        self.depth, self.count, self.passive = below_depth(tape.depth), 0, False

    @property
    def inner(self):
        """The trace inside that takes over what is done with values, those of the tape and those below it that it keeps."""
        return self.tape.inner

    @inner.setter
    def inner(self, trace):
        """Set by nobody: the tape's counts."""

    def constant(self, value):
        return self.below(value)

    def since(self, count):
        """List the saved residuals from an operation's number on."""
        return {number: y for number, y in self.kept.items() if number >= count}

    def state(self):
        """The number of operations so far."""
        return self.count, self.passive, *((self.names, self.kept) if self.again else (list(self.names), dict(self.kept)))

    @contextmanager
    def resumed(self, state):
        """Go on from a state, without leaving a trace."""
        before = self.count, self.passive, self.names, self.kept
        self.count, self.passive, names, kept = state
        self.names, self.kept = (names, kept) if self.again else (list(names), dict(kept))
        try:
            yield
        finally:
            self.count, self.passive, self.names, self.kept = before

    @contextmanager
    def working(self):
        """While its values are met: those of checkpoints inside lie above them."""
        token = at_work.set((*at_work.get(), self))
        try:
            yield
        finally:
            at_work.reset(token)

    def step(self, op, spread, x, xs, params):
        """(result, number) of an operation whose first value of this run is x."""
        number, name = self.count, op.__name__
        self.count += 1
        if self.again:
            known, within = self.names[number] if number < len(self.names) else ("nothing", ())
            if known != name:
                raise MutationError(f"{self.name}: {name} was called where {known} was in the first run; {MUST_REPEAT}")
            y = self.kept.get(number)
            if y is None:
                return spread(*xs, **params), number
            for run, count in zip(self.around, within, strict=True):
                run.count += count
            return y, number
        before = [run.count for run in self.around]
        y = spread(*xs, **params)
        self.names.append((name, [run.count - count for run, count in zip(self.around, before, strict=True)]))
        if not isinstance(y, tuple) and dtype_of(y).kind in "fc" and self.policy(op, params):
            made_by = x.number if op is checkpoint_name and x.number is not None else number
            self.kept[made_by] = snapshot(y)
        return y, number

    def below(self, x):
        """x with its floating values of the level of this run as values of it; what lies around them stays."""
        if isinstance(x, Layer) and x.depth > self.depth:
            return x.remade(lambda part: self.below(part) if isinstance(part, Layer) or hasattr(part, "dtype") else part)
        if dtype_of(x).kind not in "fc":
            return x
        return Kept[self.depth](snapshot(x), self)
