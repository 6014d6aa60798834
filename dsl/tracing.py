"""The tracing layer: values without numbers, which record each operation as an equation of a program."""

import functools

import numpy as np

from ..dispatch import Array, ConcreteValueError, DTypeError, Layer, Run, check_runs, describe, several, snapshot, tree
from .avals import aval_of, dtype_of, infer, is_number
from .axes import enclosing_axes
from .batching import lanes_of
from .debugging import check_sealed, sealed, watching
from .ir import Equation, Program, Var, without_dead_code
from .libraries import Scalar, bottom


class Traced(Layer):
    """A value known by shape and dtype only; `Traced[d]` belongs to a trace of depth d."""

    __slots__ = ("run", "var")

    def __init__(self, var, run):
        self.var, self.run = var, run

    @property
    def shape(self):
        return self.var.aval.shape

    @property
    def dtype(self):
        return self.var.aval.dtype

    @property
    def lanes(self):
        """Axis name -> whether the value is the same in all lanes, of the maps around the trace."""
        return self.var.lanes

    below = None

    def concrete(self):
        raise ConcreteValueError(
            f"{self.run.name}: Python asked for the value of {type(self).__name__} of {self.var.aval}, which a trace "
            "does not have; write the choice with polyad.where, or call the function without tracing"
        )

    def __repr__(self):
        return f"{type(self).__name__}({self.var.aval})"

    @classmethod
    def target(cls, generic, types):
        op = generic.function
        mine = [t is cls for t in types]
        whose = mine.index(True)

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            inputs = [r.atom(a, m) for a, m in zip(args, mine, strict=True)]
            avals = infer(op, [v.aval if isinstance(v, Var) else v for v in inputs], params)
            lanes = _lanes(inputs, params) if enclosing_axes() else ()
            outputs = [Var(a, lanes) for a in avals] if isinstance(avals, tuple) else [Var(avals, lanes)]
            r.equations.append(Equation(op, inputs, params, outputs))
            results = [cls(var, r) for var in outputs]
            return several(avals, results) if isinstance(avals, tuple) else results[0]

        return run


def _lanes(inputs, params):
    """What the result of an operation is along the axes of the maps around the trace: as `Batched` and `Replicated`."""
    known = {}
    for v in inputs:
        if isinstance(v, Var):
            for name, same in v.lanes.items():
                known[name] = known.get(name, True) and same
    axis = params.get("axis_name")
    if axis is not None:
        known[axis.name] = not axis.varying
    return known


class TraceRun(Run):
    """One trace: the equations so far and the constants they read."""

    __slots__ = ("constants", "equations", "example", "seals")

    def __init__(self, name, example=None):
        super().__init__(name)
        self.equations, self.constants, self.seals = [], {}, []
        self.example = bottom(example)  # an array of the device for which is traced: constants are made there

    def atom(self, x, mine=False):
        """What an equation reads: the value's Var, a Python number as it is, or a Var for a constant array."""
        if mine or type(x) is Traced[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return x.var
        if is_number(x):
            return x
        if not isinstance(x, Array) or dtype_of(x).kind not in "biufc":
            raise DTypeError(f"{self.name}: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
        key = (type(x), *[id(getattr(x, name)) for name in x.state]) if isinstance(x, Layer) else id(x)
        known = self.constants.get(key)
        if known is None:
            known = self.constants[key] = (Var(aval_of(x), lanes_of(x)), snapshot(x))
            if watching.get():
                self.seals += sealed((x,))
        return known[0]

    def constant(self, value):
        """A constant array of the program."""
        return Traced[self.depth](self.atom(value), self)


def make_ir(f):
    """Trace a function: `make_ir(f)(*args)` is the `Program` that f is for arguments of these shapes and dtypes.

    f: function of arrays or trees. Arrays that f reads from outside become constants. A Python branch on a traced value
    raises ConcreteValueError. The program prints as typed equations, `.code` is Python source, and calling it runs it.

    >>> import polyad as pa
    >>> pa.make_ir(lambda x: pa.sin(x) * 2.0)(1.0)
    lambda(a: float64[]):
      b: float64[] = sin a
      c: float64[] = multiply b 2.0
      return c
    """

    @functools.wraps(f)
    def trace(*args):
        name = getattr(f, "__name__", type(f).__name__).strip("<>")
        leaves, structure = tree.flatten(args)
        with TraceRun(f"make_ir({name})", next((x for x in leaves if not isinstance(x, Scalar)), None)) as run:
            inputs = [Var(_input_aval(name, i, x), lanes_of(x)) for i, x in enumerate(leaves)]
            out = f(*tree.unflatten(structure, [Traced[run.depth](var, run) for var in inputs]))
            results, out_structure = tree.flatten(out)
            outputs = [run.atom(x) for x in results]
            check_sealed(run.seals, run.name, "the trace, as a constant,")
        equations, needed = without_dead_code(run.equations, outputs)
        constants = [pair for pair in run.constants.values() if pair[0] in needed]
        return Program(name, inputs, constants, equations, outputs, structure, out_structure)

    return trace


def _input_aval(name, i, x):
    x = np.asarray(x) if is_number(x) else x
    aval = aval_of(x)
    if aval.dtype.kind not in "biufc":
        raise DTypeError(f"make_ir({name}): leaf {i} of the arguments is {describe(x)}, not an array of numbers")
    return aval
