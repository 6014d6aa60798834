"""Whether a function is linear: whether its derivative depends on its arguments, found in one run at zero.

The arguments are values with a mark, which each operation hands on to its result; their tangents have none. A linear function
computes its tangent from tangents alone, so that it comes out without the mark.
"""

from typing import Any

import numpy as np

from ..dispatch import ConcreteValueError, Layer, Run, StructureError, check_runs, settled, several, snapshot, step_into
from ..dsl.control.cond import choice
from ..dsl.control.lifting import Lift
from ..dsl.control.self_calls import deep
from ..dsl.control.subprograms import lifted, subprogram
from ..dsl.ir.programs import evaluate
from ..dsl.layers.tracing import in_trace
from .inputs import inputs_of, zero
from .rules.from_cards import unshared
from .sweeps import push


class Marked(Layer):
    """A value that depends on the arguments. by: the operation with which that began, None for an argument itself."""

    __slots__ = ("by", "run", "value")
    holds = "value"
    only_arrays = True

    def __init__(self, value, by, run):
        self.value, self.by, self.run = value, by, run

    def concrete(self):
        raise ConcreteValueError(f"{self.run.name}: Python asked for the value of {type(self).__name__} of {self.dtype}")

    @classmethod
    def target(cls, generic, types):
        spread, mine = generic.spread, [t is cls for t in types]
        whose = mine.index(True)

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            xs = [a.value if m else a for a, m in zip(args, mine, strict=True)]
            by = next((a.by for a, m in zip(args, mine, strict=True) if m and a.by is not None), generic.card.public)
            marked = lambda y: y if type(y) is cls else cls(unshared(y, xs), by, r)
            y = spread(*xs, **params)
            return several(y, map(marked, y)) if isinstance(y, tuple) else marked(y)

        return run

    @classmethod
    def lift(cls, generic, types):
        """Operations on programs run as they do for arrays, on the marked values; where a trace around does not say how often,
        the programs are asked."""
        inside = lifted("lift", lambda run, args, params: MarkLift(run, generic.card.public))(cls, generic, types)
        outside = step_into(generic, types)
        return lambda *args, **params: (inside if any(map(in_trace, args)) else outside)(*args, **params)


class MarkRun(Run):
    """One run that looks where the arguments go."""

    __slots__ = ()

    def marked(self, value):
        return Marked[self.depth](snapshot(value), None, self)

    def is_marked(self, x):
        return type(settled(x)) is Marked[self.depth]


class MarkLift(Lift):
    """A value stays one value, and a program the same program. by: the operation, as whose doing results are marked."""

    def __init__(self, run, by):
        super().__init__(run)
        self.mine, self.by = run.is_marked, by

    def below(self, x, mine):
        return [x.value if self.mine(x) else x]

    def above(self, parts, mine):
        value = next(parts)
        return Marked[self.run.depth](value, self.by, self.run) if mine else value

    def program(self, program, mine, at_least=None):
        key = ("marks", tuple(mine))
        if key not in program.lifted:
            program.lifted[key] = [True] * len(program.outputs) if deep(program) else _reached(program, mine)
        return program, [a or b for a, b in zip(program.lifted[key], at_least or program.lifted[key], strict=True)]

    def until_all_stop(self, test, body, mine, carry):
        return test, body

    def choose(self, index, operands, branches):
        return self.one_by_one(choice, [index, *operands], {"branches": branches})

    def one_by_one(self, op, args, params):
        results = op(*self.all_below(args, [False] * len(args)), **params)
        return self.all_above(results, [True] * len(results))


def _reached(program, mine):
    """Tell for each result of a program whether it depends on the arguments `mine`."""
    found = []

    def look(*xs):
        with MarkRun(program.name) as run:
            ys = evaluate(program, [run.marked(x) if m else x for x, m in zip(xs, mine, strict=True)])
            found.extend(map(run.is_marked, ys))
        return [y.value if m else y for y, m in zip(ys, found, strict=True)]

    subprogram(program.name, look, program.inputs, hoist=False)
    return found


def check_linear(name, f, zeros):
    """Raise StructureError if the derivative of f depends on its arguments; whether f's result is a function.

    zeros: the arguments at which it is asked, trees of floating arrays.
    """
    with MarkRun(name) as run, np.errstate(all="ignore"):
        flat = inputs_of(name, range(len(zeros)), zeros)
        inputs = [([run.marked(v) for v in leaves], structure) for leaves, structure in flat]
        slopes = [[zero(v) for v in leaves] for leaves, _ in flat]
        try:
            result = push(name, f, inputs, slopes)
        except ConcreteValueError as error:
            raise StructureError(
                f"{name}: the function asks for a value of its argument, so it is not linear; use vjp at a point"
            ) from error
    if result is None:
        return True
    slopes: Any = result[1]
    for slope in slopes:
        if run.is_marked(slope):
            raise StructureError(
                f"{name}: the function is not linear: its derivative depends on its argument (through {slope.by}); use vjp or "
                "linearize at a point, or make what is no argument a constant with a lambda"
            )
    return False
