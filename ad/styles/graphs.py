"""`placeholder`, `gradients`, `function`: a graph first and numbers later, in the style of Theano and TensorFlow 1.

A thin form of tracing. Operations on placeholders compute nothing and note a step; `gradients` adds the steps of the reverse
walk; `function` makes a `Program` of the steps between chosen inputs and outputs. Limits: shapes are fixed, a Python `if` on a
placeholder is an error (`polyad.where`, `polyad.cond`), arrays that are read become constants, copied as they are then, and
steps for their effect alone are kept only if an output depends on them. `polyad.make_ir` of a function is the first choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import DTypeError, Layer, ShapeError, StructureError, describe, isa, shape_of, tree
from ...dsl import asarray
from ...dsl.avals import Aval, dtype_of, is_number
from ...dsl.ir.programs import Program, Var, evaluate
from ...dsl.layers.tracing import Traced
from ..inputs import is_count
from ..reverse.tape import Reverse, ReverseRun
from ..subgraphs import Between, flattened
from .graph_nodes import Constant, Known, Placeholder, Step, behind, graph, replayed, run_again, shown, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dispatch.annotations import AnyArray


def placeholder(shape: int | Sequence[int] = (), dtype: Any = float, name: str | None = None) -> AnyArray:
    """A value that is given later, to compute with as with an array.

    shape: tuple of ints or an int. dtype: of numbers. name: for messages. Raises ShapeError, DTypeError.

    >>> import polyad as pa
    >>> x = pa.placeholder((3,))
    >>> pa.sin(x)
    Traced[0](float64[3])
    """
    lengths: Any = (shape,) if isa(shape, (int, np.integer)) else shape
    if not isinstance(lengths, (tuple, list)) or not all(is_count(n, 0) for n in lengths):
        raise ShapeError(f"placeholder: the shape is a tuple of lengths, all known, not {shape!r}")
    kind = _dtype(dtype)
    var = Var(Aval(tuple(int(n) for n in lengths), kind))
    var.origin = Placeholder(name)
    return value_of(var)


def _dtype(dtype):
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = None
    if found is None or found.kind not in "biufc":
        raise DTypeError(f"placeholder: {dtype!r} is no dtype of numbers")
    return found


def function(inputs: Any, outputs: Any, givens: Any = None, name: str = "graph") -> Any:
    """A callable that computes outputs from inputs.

    inputs: list of placeholders, or trees of them: the arguments. outputs: an array of the graph, or tree of them; the result
    has its structure. givens: dict or list of pairs (placeholder, array of the graph or number) to put in its place.
    The callable's `program` is the `Program` of the steps in between, which prints and has `.code`; both can be transformed.
    Raises StructureError for a placeholder on which an output depends and that is not given.

    >>> import polyad as pa
    >>> a, b = pa.placeholder(), pa.placeholder()
    >>> f = pa.function([a, b], pa.gradients(a * b, a))
    >>> f(1.5, 2.5)
    np.float64(2.5)
    """
    inputs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    leaves, in_structure = tree.flatten(inputs)
    variables = [_var(x, "function: inputs") for x in leaves]
    if len(set(variables)) != len(variables):
        raise StructureError("function: a placeholder is named twice among the inputs")
    results, out_structure = tree.flatten(outputs)
    atoms = [graph.atom(x) for x in results]
    if givens is not None:
        pairs = list(givens.items()) if isinstance(givens, dict) else givens
        if not isinstance(pairs, (list, tuple)) or not all([isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs]):
            raise StructureError(f"function: givens is a dict or a list of pairs (placeholder, array), not {describe(givens)}")
        env = {_var(old, "function: givens"): _value_like(new, old) for old, new in pairs}
        atoms = [graph.atom(x) for x in replayed(atoms, env)]
    steps, origins = behind(atoms, variables)
    missing = [v for v, origin in origins.items() if isinstance(origin, Placeholder) and v not in variables]
    if missing:
        raise StructureError(
            f"function: an output depends on {' and '.join(map(shown, missing))}, not among the inputs; add it to them, or to "
            "givens"
        )
    constants = [(v, origin.value) for v, origin in origins.items() if isinstance(origin, Constant) and v not in variables]
    equations = [step.equation for step in steps]
    return Function(Program(name, variables, constants, equations, atoms, in_structure, out_structure))


class Function:
    """A compiled graph, as `function` returns it: call it with the inputs' values; `program` is what it runs."""

    def __init__(self, program):
        self.program = program
        self.__name__ = program.name

    def __call__(self, *args):
        program = self.program
        leaves = tree.match(program.in_structure, args, f"function {program.name}")
        leaves = [_argument(program.name, x, v) for x, v in zip(leaves, program.inputs, strict=True)]
        return tree.unflatten(program.out_structure, evaluate(program, leaves))

    @property
    def code(self):
        """The program as Python source."""
        return self.program.code

    def __repr__(self):
        return str(self.program)


def _argument(name, x, var):
    """A value for an input, in its dtype."""
    aval = var.aval
    if is_number(x):
        x = asarray(x, dtype=aval.dtype if np.can_cast(np.result_type(x), aval.dtype, "same_kind") else None)
    if shape_of(x) != aval.shape or not np.can_cast(dtype_of(x), aval.dtype, "safe"):
        raise ShapeError(f"function {name}: {describe(x)} was given for {shown(var)}; convert it, or make another placeholder")
    return x if dtype_of(x) == aval.dtype else x.astype(aval.dtype)


def gradients(y: Any, xs: Any, ct: Any = None, stop_gradients: Any = (), unconnected: str = "zero") -> Any:
    """The gradient of y by xs, as further arrays of the graph, in the structure of xs.

    y: a real number of the graph; or any array or tree with ct, its cotangent of the same structure and shapes, plain or from
    the graph. xs: placeholders or arrays computed from them, or a tree; derivatives count all ways on which y depends on each.
    stop_gradients: arrays of the graph that count as constants. unconnected: "zero" or "none", what stands for an array on
    which y does not depend. Raises ShapeError, DTypeError, StructureError.

    >>> import polyad as pa
    >>> x = pa.placeholder()
    >>> (slope,) = pa.gradients(x**3, [x])
    >>> (curvature,) = pa.gradients(slope, [x])
    >>> pa.function([x], [slope, curvature])(2.0)
    [np.float64(12.0), np.float64(12.0)]
    """
    read = lambda what: lambda leaf, path: (leaf, _var(leaf, f"gradients: {what}{path}"))
    results, sources = flattened(y, read("y")), flattened(xs, read("xs"))
    stopped = {_var(x, "gradients: stop_gradients") for x in tree.leaves(stop_gradients)}
    steps, _ = behind(results[2])
    with ReverseRun("gradients") as run:
        env = _followed(run, steps, set(sources[2]), stopped)
        place = lambda v: env[v].index if isinstance(env.get(v), Reverse) else None
        ends = [[place(v) for v in keys] for *_, keys in (sources, results)]
    with Known(steps):
        back = Between("gradients", run.tape.__getitem__, int, (*sources[:2], ends[0]), (*results[:2], ends[1]), run.required)
        return back.gradient(ct, unconnected)


def _followed(run, steps, sources, stopped):
    """The steps once more under a derivative: Var -> followed value, of what depends on the sources."""
    env = {v: run.input(value_of(v)) for v in sources if not isinstance(v.origin, Step) or v in stopped}
    with Known(steps):
        for step in steps:
            e = step.equation
            if any([v in env for v in e.inputs if isinstance(v, Var)]):
                for v, part in zip(e.outputs, run_again(e, env), strict=True):
                    if v not in stopped:
                        env[v] = part
            for v in e.outputs:
                if v in sources and not isinstance(env.get(v), Reverse):
                    env[v] = run.input(value_of(v))
    return env


def _var(x, what):
    if type(x) is not Traced[0]:
        where = f" of {x.run.name}" if isinstance(x, Layer) else ""
        raise StructureError(
            f"{what}: {describe(x)}{where} is no array of an explicit graph; start from polyad.placeholder(shape)"
        )
    return x.variable


def _value_like(new, old):
    new = asarray(new, dtype=old.dtype) if is_number(new) else new
    if shape_of(new) != old.shape or dtype_of(new) != old.dtype:
        raise ShapeError(f"function: givens: {describe(new)} cannot stand for {shown(old.variable)}")
    return value_of(graph.atom(new))
