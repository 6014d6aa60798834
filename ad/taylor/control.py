"""How Taylor series take part in control flow: each is a value and its coefficients one layer down."""

import functools

from ...dispatch import check_runs
from ...dsl.avals import dtype_of
from ...dsl.control.lifting import Lift
from ...dsl.control.subprograms import lifted, subprogram
from ...dsl.ir.programs import evaluate
from ...dsl.ops.create import zeros_like
from .rules import Coefficients
from .series import Series, SeriesRun


class SeriesLift(Lift):
    """A followed value is its primal and its coefficients up to an order; a program is followed by all of them."""

    def __init__(self, run, order):
        super().__init__(run)
        self.order = order

    def mine(self, x):
        return type(x) is Series[self.run.depth]

    def below(self, x, mine):
        if not mine:
            return [x]
        if not self.mine(x):
            return [x, *[zeros_like(x)] * self.order]
        return [x.primal, *_written_out(x.primal, [x.coefficients(k) for k in range(1, self.order + 1)])]

    def above(self, parts, mine):
        primal = next(parts)
        return self.run.wrap(primal, [next(parts) for _ in range(self.order)]) if mine else primal

    def program(self, program, mine, at_least=None):
        key = ("series", self.order, tuple(mine), None if at_least is None else tuple(at_least))
        if key not in program.lifted:
            program.lifted[key] = _along(program, self.order, mine, at_least)
        return program.lifted[key]


def _written_out(primal, coefficients):
    return [zeros_like(primal) if c is None else c for c in coefficients]


def _along(program, order, mine, at_least):
    followed = []

    def push(*flat):
        parts = iter(flat)
        with SeriesRun(program.name, order) as run:
            take = lambda m: run.wrap(next(parts), [next(parts) for _ in range(order)]) if m else next(parts)
            pairs = [run.unwrap(y) for y in evaluate(program, [take(m) for m in mine])]
        results = []
        for i, (y, coefficients) in enumerate(pairs):
            wanted = any([c is not None for c in coefficients]) or at_least is not None and at_least[i]
            followed.append(wanted)
            results += [y, *_written_out(y, coefficients)] if wanted else [y]
        return results

    inputs = [v for v, m in zip(program.inputs, mine, strict=True) for v in ([v] * (1 + order) if m else [v])]
    return subprogram(program.name, push, inputs, hoist=False)[0], followed


def _lift(cls, generic, types):
    """The target for operations on programs. Within a rule, where each coefficient is found when it is asked for, the operation
    is carried out for each by itself."""
    complete = lifted("lift", lambda run, args, params: SeriesLift(run, run.order))(cls, generic, types)
    whose = [t is cls for t in types].index(True)

    def run(*args, **params):
        r = args[whose].run
        return _one_by_one(r, generic, args, params) if r.growing else complete(*args, **params)

    return run


def _one_by_one(run, generic, args, params):
    kind, rule = Series[run.depth], generic.card.rules["lift"]
    check_runs(run, args, kind)
    upto = functools.cache(lambda k: list(rule(SeriesLift(run, k), args, **params)))

    def coefficient(i, k):
        y = upto(k)[i]
        return y.coefficients(k) if type(y) is kind else None

    primals = [y.primal if type(y) is kind else y for y in upto(0)]
    rules = [functools.partial(coefficient, i) for i in range(len(primals))]
    follow = lambda y, rule: run.wrap(y, Coefficients(rule=rule)) if dtype_of(y).kind in "fc" else y
    return tuple(map(follow, primals, rules))


Series.lift = classmethod(_lift)
