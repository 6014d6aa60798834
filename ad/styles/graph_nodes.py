"""The steps of explicit graphs: values hold what they come from, so nothing grows and nothing is kept without need."""

import itertools
import threading
from typing import Any

from ...dispatch import DTypeError, Layer, LeakedLayerError, describe, settled
from ...dsl.avals import aval_of, dtype_of, is_number
from ...dsl.axes import resolved
from ...dsl.ir.programs import Var
from ...dsl.layers.tracing import Traced, TraceRun, standing

_node_numbers = itertools.count()


class Placeholder:
    """The origin of a value that is given later."""

    def __init__(self, name):
        self.name = name


class Constant:
    """The origin of an array that was read."""

    def __init__(self, value):
        self.value = value


class Step:
    """The origin of a result. number: larger than those of the steps it depends on."""

    def __init__(self, equation):
        self.equation, self.number = equation, next(_node_numbers)


class GraphRun(TraceRun):
    """The run that explicit graphs belong to: a trace of depth 0 that is never entered nor left, and that holds nothing; values
    hold what they come from."""

    __slots__ = ("local",)  # what is known in each thread
    advice = "write the choice with polyad.where or polyad.cond, or call a function of arrays instead"

    def __init__(self):
        self.local = threading.local()
        super().__init__("an explicit graph")
        self.depth, self.outer = 0, None

    @property
    def inner(self):
        """The trace inside of a choice or loop, whose steps are not the graph's: in each thread its own."""
        return getattr(self.local, "inner", None)

    @inner.setter
    def inner(self, trace):
        self.local.inner = trace

    def record(self, equation):
        known = getattr(self.local, "known", None)
        key = None if known is None else _step_key(equation)
        if known is not None and key is not None and key in known:
            return known[key]
        step = Step(equation)
        for v in equation.outputs:
            v.origin = step
        if known is not None and key is not None:
            known[key] = equation.outputs
        return equation.outputs

    def atom(self, x, mine=False):
        x = settled(x)
        if type(x) is Traced[0]:
            return x.variable
        if is_number(x):
            return x
        if isinstance(x, Layer):
            raise LeakedLayerError(f"an explicit graph: {describe(x)} belongs to another transformation; read its plain value")
        if dtype_of(x).kind not in "biufc":
            raise DTypeError(f"an explicit graph: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
        var = Var(aval_of(x))
        var.origin = Constant(x.copy() if hasattr(x, "copy") else x)
        return var

    def foreign(self, other):
        return LeakedLayerError(
            f"an explicit graph has no numbers yet, and {other.name} follows numbers: do not mix placeholders with variables; "
            "give the variable's value to the function, or read x.detach()"
        )


graph = GraphRun()
standing.append(graph)


def value_of(var) -> Any:
    return Traced[0](var, graph)


def _step_key(equation):
    """Return a key that equal steps have in common, or None if that cannot be told."""
    if equation.op.card.collective:
        return None
    inputs = tuple([id(v) if isinstance(v, Var) else (type(v), repr(v)) for v in equation.inputs])
    key = (equation.op, inputs, tuple(sorted(equation.params.items(), key=lambda pair: pair[0])))
    try:
        hash(key)
    except TypeError:
        return None
    return key


class Known:
    """Within it a step that is among these, or was noted within it, is not noted again."""

    def __init__(self, steps):
        keys = [(_step_key(step.equation), step.equation.outputs) for step in steps]
        self.known = {key: outputs for key, outputs in keys if key is not None}

    def __enter__(self):
        self.before = getattr(graph.local, "known", None)
        graph.local.known = self.known

    def __exit__(self, *error):
        graph.local.known = self.before


def run_again(e, env):
    """The results of a step with other values in place of some Vars."""
    value = lambda v: env[v] if v in env else value_of(v)
    y = e.op.generic.spread(*[value(v) if isinstance(v, Var) else v for v in e.inputs], **resolved(e.op, e.params))
    return y if isinstance(y, tuple) else (y,)


def replayed(atoms, env):
    """Evaluate the outputs with other values in place of some Vars."""
    steps, _ = behind(atoms, env)
    for step in steps:
        if any([v in env for v in step.equation.inputs if isinstance(v, Var)]):
            env.update(zip(step.equation.outputs, run_again(step.equation, env), strict=True))
    return [env[v] if v in env else value_of(v) if isinstance(v, Var) else v for v in atoms]


def behind(atoms, stop=()):
    """(steps in order, Var -> origin of the others) on which outputs depend; Vars in `stop` depend on nothing."""
    steps, origins, waiting = set(), {}, [v for v in atoms if isinstance(v, Var)]
    while waiting:
        v = waiting.pop()
        if v in stop or v in origins:
            continue
        if not isinstance(v.origin, Step):
            origins[v] = v.origin
        elif v.origin not in steps:
            steps.add(v.origin)
            waiting += [u for u in v.origin.equation.inputs if isinstance(u, Var)]
    return sorted(steps, key=lambda step: step.number), origins


def shown(var):
    origin = var.origin
    named = f" {origin.name!r}" if isinstance(origin, Placeholder) and origin.name else ""
    return f"{'the placeholder' if isinstance(origin, Placeholder) else 'the array'}{named} of {var.aval}"
