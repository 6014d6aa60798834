"""Taylor mode: values with the coefficients of their Taylor series along a curve, for all derivatives in one pass.

`Series[d]` holds a value x(0) and the coefficients x_1, x_2, … of x(t) = Σ x_k t^k. How an operation finds those of its
result is said in rules.py: from its derivative rule, coefficient by coefficient. Within a rule series grow: each
coefficient is found when it is asked for, which is what lets a derivative that reads the result be a rule for the result.
What the user's function sees has all its coefficients, so that errors come from the line that causes them.
"""

import sys

from ...dispatch import Layer, Run, check_runs, settled, several, snapshot
from ...dsl.avals import dtype_of
from ...dsl.layers.splitting import concrete
from ..rules.from_cards import constant, differentiable, unfollowed
from .rules import Coefficients, growth


class Series(Layer):
    """A value and its further Taylor coefficients; `Series[d]` belongs to a Taylor transformation of depth d."""

    __slots__ = ("coefficients", "primal", "run")
    holds = "primal"
    only_arrays = True

    def __init__(self, primal, coefficients, run):
        self.primal, self.coefficients, self.run = primal, coefficients, run

    def concrete(self):
        return concrete(self.primal)

    def parts(self):
        return [self.primal, *self.coefficients.parts()]

    def remade(self, change):
        primal, coefficients = change(self.primal), self.coefficients.changed(change)
        same = primal is self.primal and coefficients is self.coefficients
        return self if same else Series[self.depth](primal, coefficients, self.run)

    @classmethod
    def target(cls, generic, types):
        spread = generic.spread
        mine = [t is cls for t in types]
        whose = mine.index(True)
        if not differentiable(generic) and not generic.dense_rules:
            return unfollowed(cls, generic, types)
        grow = growth(generic, mine)

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            y = spread(*[a.primal if m else a for a, m in zip(args, mine, strict=True)], **params)
            if all([a.coefficients.vanish() for a, m in zip(args, mine, strict=True) if m]):
                return r.constants(y)
            return r.follow(y, grow(args, params))

        return run


class SeriesRun(Run):
    """One execution of a Taylor transformation. order: the highest coefficient. growing: a rule is under way. within: what has
    coefficients by rules that are to be found within it."""

    __slots__ = ("growing", "order", "within")

    def __init__(self, name, order):
        super().__init__(name)
        self.order, self.growing, self.within = order, False, []

    def wrap(self, primal, coefficients):
        """A value with these coefficients: a `Coefficients`, or a list of all of them, None where zero."""
        if type(coefficients) is list:
            coefficients = Coefficients([snapshot(c) for c in coefficients])
        elif self.growing:
            self.within.append(coefficients)
        return Series[self.depth](snapshot(primal), coefficients, self)

    def constant(self, value):
        """A value that does not change along the curve."""
        if dtype_of(value).kind not in "fc":
            return super().constant(value)
        return self.wrap(value, [None] * self.order)

    def constants(self, y):
        """The result y of an operation, or the tuple of them, as values that do not change: what is made of a buffer can be
        written to as the buffer can."""
        still = lambda part: self.wrap(part, [None] * self.order) if dtype_of(part).kind in "fc" else part
        return several(y, map(still, y)) if isinstance(y, tuple) else still(y)

    def follow(self, y, rules):
        """The result y of an operation, or the tuple of them, as values of this run; integers as they are.

        rules: function of what is returned that gives for each result a function k -> coefficient k.
        """
        if not isinstance(y, tuple):
            made = self._start(y)
            self._give(made, *rules(made))
            return self._grown(made)
        made = several(y, [self._start(part) for part in y])
        for part, rule in zip(made, rules(made), strict=True):
            self._give(part, rule)
        return several(y, [self._grown(part) for part in made])

    def _start(self, y):
        return self.wrap(y, Coefficients()) if dtype_of(y).kind in "fc" else y

    def _give(self, x, rule):
        if type(x) is Series[self.depth]:
            x.coefficients.rule = rule

    def _grown(self, x):
        """x; outside of rules with all coefficients, or its value alone if they are zero."""
        if self.growing or type(x) is not Series[self.depth]:
            return x
        self.growing = True
        try:
            known = x.coefficients.known(self.order)
        except RecursionError as error:
            raise RecursionError(
                f"{self.name}: {self.order} derivatives of an operation whose rule calls the operation again go deeper than "
                f"Python's {sys.getrecursionlimit()} calls; raise that with sys.setrecursionlimit, or ask for fewer"
            ) from error
        finally:
            self.growing = False
            for coefficients in self.within:  # by rules that go round in circles: their arrays would wait for the collector
                coefficients.rule = None
            self.within.clear()
        return x if any([c is not None for c in known]) else x.primal

    def unwrap(self, x):
        """(value, coefficients 1 to `order`, None where zero) of a result of the function."""
        x = settled(x)
        if type(x) is Series[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return snapshot(x.primal), [snapshot(c) for c in x.coefficients.known(self.order)]
        return constant(x), [None] * self.order
