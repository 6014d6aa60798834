"""The tracing layer: values without numbers, which record each operation as an equation of a program."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import (
    Array,
    ConcreteValueError,
    DTypeError,
    HostArray,
    Layer,
    Run,
    check_runs,
    describe,
    layers_of,
    open_runs,
    settled,
    several,
    snapshot,
    tree,
)
from ..array_libraries import Scalar, bottom
from ..avals import Aval, aval_of, dtype_of, is_number, standing_of
from ..axes import enclosing_axes
from ..card import operations
from ..ir.programs import Equation, Program, Var, same_step, without_dead_code
from ..mutation_checks import check_sealed, sealed, watching
from .batching import lanes_of
from .splitting import concrete, leave_jit
from .weak_types import inferred, settled_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import P


class Traced(Layer):
    """A value known by shape and dtype only; `Traced[d]` belongs to a trace of depth d."""

    __slots__ = ("run", "variable")

    def __init__(self, var, run):
        self.variable, self.run = var, run

    @property
    def shape(self):
        return self.variable.aval.shape

    @property
    def dtype(self):
        return self.variable.aval.dtype

    @property
    def lanes(self):
        """Axis name -> whether the value is the same in all lanes, of the maps around the trace."""
        return self.variable.lanes

    below = None

    def standing(self):
        """A Python number, an array of the library for which is traced, or what has no axes: a number of NumPy's."""
        var, library = self.variable, type(self.run.example)
        host = issubclass(library, (HostArray, type(None)))
        plain = np.ndarray if var.aval.shape else var.aval.dtype.type
        return var.weak or var.standing or (plain if host else library)

    def concrete(self):
        return self.run.answer(self)

    def made_as(self, other, alike):
        return self.variable is other.variable or self.run.same_step(self.variable, other.variable, alike)

    def __repr__(self):
        """Text of the numbers where there are some, under jit."""
        return self._text(repr)

    def _text(self, form):
        return self._shown() if self.run.closed else self.run.text(self, form)

    def _shown(self):
        return f"{type(self).__name__}({self.variable.aval})"

    @classmethod
    def target(cls, generic, types):
        op = generic.function
        mine = [t is cls for t in types]
        whose = mine.index(True)
        known = {}

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            if r.performs:
                return r.perform(generic, args, params)
            if params and any([Layer in type(v).__mro__ for v in params.values()]):
                for name, v in params.items():
                    _leave_for(op, name, v)
                if r.performs:
                    return r.perform(generic, args, params)
                params = {name: _plain_value(op, name, v) for name, v in params.items()}
            inputs = [a.variable if m else r.atom(a) for a, m in zip(args, mine)]
            inputs, weak = settled_numbers(r, generic, inputs, params, known)
            if r.performs:  # it was asked whether a divisor is zero
                return r.perform(generic, args, params)
            avals = inferred(op, inputs, params, known)
            lanes = _lanes(op, inputs, params) if enclosing_axes() else ()
            outputs = [Var(a, lanes) for a in avals] if isinstance(avals, tuple) else [Var(avals, lanes, weak)]
            if lanes and "lanes" in op.card.rules:
                for var, its in zip(outputs, op.card.rules["lanes"](**params), strict=True):
                    var.lanes = dict(its)
            outputs = r.record(Equation(op, inputs, params, outputs))
            results = [cls(var, r) for var in outputs]
            return several(avals, results) if isinstance(avals, tuple) else results[0]

        return run


def _leave_for(op, name, value):
    """Have jit go on eagerly where a parameter is a floating number that the trace, or a transformation within it, follows."""
    if isinstance(value, Layer) and value.dtype.kind in "fc":
        leave_jit(value, _no_plain_value(op, name, value))


def _plain_value(op, name, value):
    """A parameter as a plain value: a number that the trace follows is asked for."""
    if not isinstance(value, Layer):
        return value
    if not isinstance(value, Traced):  # the program would hold it, and what it is followed for would be lost
        raise ConcreteValueError(_no_plain_value(op, name, value))
    try:
        return concrete(value)[()]
    except ConcreteValueError as error:
        raise ConcreteValueError(_no_plain_value(op, name, value)) from error


def _no_plain_value(op, name, value):
    remedy = f"declare {name} as an array, before the /, or make it a static argument of jit (static_argnums, static_argnames)"
    return f"{op.__name__}: its parameter {name} is {describe(value)}, but parameters are plain values; {remedy}"


def identity(x):
    """Return a key for the value that x is, valid for as long as that is alive: in-place code makes a layer value another
    one."""
    return (type(x), *[id(getattr(x, name)) for name in x.state]) if isinstance(x, Layer) else id(x)


def as_array(x):
    """A value of a trace that stands for a Python number as one that stands for an array of it; all else as it is."""
    return operations["astype"](x, dtype=x.dtype) if x.variable.weak in (float, complex) else x


def in_trace(x):
    """Return whether a trace follows the value x, or one that it is made of, so that Python does not know it."""
    return any(isinstance(part, Traced) for part in layers_of(x))


def _lanes(op, inputs, params):
    """Wrap the result of an operation as it lies along the axes of the maps around the trace: `Batched` or `Replicated`."""
    known = {}
    for v in inputs:
        if isinstance(v, Var):
            for name, same in v.lanes.items():
                known[name] = known.get(name, True) and same
    axis = params.get("axis_name")
    if axis is not None:
        known[axis.name] = not (axis.varying or op.card.own_lanes)
    return known


class NeedsPython(BaseException):
    """Python asked for a value inside a function that was being traced for a loop or a choice, within `jit`: `run`, that of
    jit, can answer if the loop or choice runs as Python's own. Not an Exception, so that user code does not catch it."""

    def __init__(self, run):
        self.run = run


standing = []  # runs that are around everything, and never entered: that of explicit graphs


class TraceRun(Run):
    """One trace: the equations so far and the constants they read.

    captures: whether operations on values of the transformations around it are its steps too, as inside a loop or choice.
    """

    __slots__ = ("around", "captures", "constants", "equations", "example", "programs", "seals")
    advice = "write the choice with polyad.where or polyad.cond, or call the function without tracing"

    def __init__(self, name, example=None, captures=False):
        super().__init__(name)
        self.captures = captures
        self.equations, self.constants, self.seals = [], {}, []
        self.programs = {}  # of functions that call themselves: what they are made of -> the program
        self.example = bottom(example)  # an array of the device for which is traced: constants are made there

    def __enter__(self):
        super().__enter__()
        whole = [] if self.answers else standing  # under jit a graph is made as the function makes it
        self.around = [(run, run.inner) for run in (*open_runs()[1:], *whole)] if self.captures else []
        self._capture_from_around()
        return self

    def _capture_from_around(self):
        for run, _ in self.around:
            run.inner = self

    def _leave_to_around(self):
        for run, inner in self.around:
            run.inner = inner

    @contextlib.contextmanager
    def outside(self):
        if not self.closed:
            self._leave_to_around()
        with super().outside():
            try:
                yield
            finally:
                if not self.closed:
                    self._capture_from_around()

    def __exit__(self, *error):
        self._leave_to_around()
        super().__exit__(*error)

    def recorded(self):
        """All steps so far."""
        return self.equations

    def capture(self, generic, args, params):
        """An operation on values of the transformations around, as a step of this trace."""
        follow = lambda x: Traced[self.depth](self.atom(x), self) if isinstance(x, Layer) else x
        return generic.spread(*[follow(x) for x in args], **params)

    performs = False  # whether operations are carried out instead of recorded
    replays = False  # whether operations that are to come have been carried out already
    answers = False  # whether Python's questions have an answer: under jit

    def answer(self, x):
        """A traced value as Python asks for it."""
        self.ask_around()
        raise ConcreteValueError(
            f"{self.name}: Python asked for the value of {type(x).__name__} of {x.variable.aval}, which a trace "
            f"does not have; {self.advice}"
        )

    def same_step(self, v, w, alike):
        """Return whether two Vars are made alike, as far as the steps are known."""
        return same_step(self.equations, self.constants.values(), v, w, alike)

    def ask_around(self):
        """Raise NeedsPython if a trace around can answer Python's questions."""
        runs = open_runs()
        for run in runs if self in runs else ():  # the trace of an explicit graph has nothing around it
            if isinstance(run, TraceRun) and run.of_values:
                if run.answers:
                    raise NeedsPython(run)
                if not run.captures:
                    return

    def text(self, x, form):
        """Return what str, repr or format, `form`, says of a traced value, which has no numbers here."""
        self.ask_around()
        return x._shown()

    @property
    def plain(self):
        """A function that gives a traced value as a plain one to Python, None if there is none."""
        self.ask_around()

    def no_zero(self, var):
        """Python divides by this number: that fails for zero."""

    def below_zero(self, number):
        """Return whether a whole number, or a Var of one, is negative; a trace that has no values takes it not to be."""
        return not isinstance(number, Var) and number < 0

    def within(self, var, dtype):
        """A Python number becomes an integer of this dtype: that fails for one which is none of them."""

    def converted(self, var, dtype):
        """The Var of a Python number, in a dtype."""
        if var.aval.dtype == dtype:
            return var
        if var.weak is int and dtype.kind in "iu":
            self.within(var, dtype)
        (out,) = self.record(Equation(operations["astype"], [var], {"dtype": dtype}, [Var(Aval((), dtype), var.lanes)]))
        return out

    def record(self, equation):
        """Note a step; returns the Vars of its results."""
        self.equations.append(equation)
        return equation.outputs

    def atom(self, x, mine=False):
        """Return the operand by which an equation reads a value: the value's Var, a Python number as it is, or a Var for a
        constant array."""
        x = settled(x)
        if mine or type(x) is Traced[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return x.variable
        if is_number(x):
            return x
        if not isinstance(x, Array) or dtype_of(x).kind not in "biufc":
            raise DTypeError(f"{self.name}: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
        key = identity(x)
        known = self.constants.get(key)
        if known is None:
            if isinstance(x, Layer) and x.run.closed:
                raise x.run.leaked()
            weak = x.variable.weak if isinstance(x, Traced) else None
            known = self.constants[key] = (Var(aval_of(x), lanes_of(x), weak), snapshot(x))
            if watching.get():
                self.seals += sealed((x,))
        return known[0]

    sees_effects = records = True

    def same(self, value):
        return self.constant(np.asarray(value)[()] if is_number(value) else value)

    def constant(self, value):
        """A constant array of the program."""
        return Traced[self.depth](self.atom(value), self)


def make_ir(f: Callable[P, Any]) -> Callable[P, Program]:
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

    name = getattr(f, "__name__", type(f).__name__).strip("<>")
    wrap: Any = functools.wraps(f)
    return wrap(lambda *args: traced(f"make_ir({name})", name, f, args))


def traced(title, name, f, args):
    """The program of this name that a function is for such arguments. title: of the call, for errors."""
    leaves, structure = tree.flatten(args)
    with TraceRun(title, next((x for x in leaves if not isinstance(x, (Scalar, Aval))), None)) as run:
        weak = [type(x) if is_number(x) else None for x in leaves]
        inputs = [Var(_input_aval(title, i, x), lanes_of(x), weak[i], standing_of(x)) for i, x in enumerate(leaves)]
        out = f(*tree.unflatten(structure, [Traced[run.depth](var, run) for var in inputs]))
        results, out_structure = tree.flatten(out)
        outputs = [run.atom(x) for x in results]
        check_sealed(run.seals, run.name, "the trace, as a constant,")
    equations, needed = without_dead_code(run.equations, outputs)
    constants = [pair for pair in run.constants.values() if pair[0] in needed]
    return Program(name, inputs, constants, equations, outputs, structure, out_structure)


def _input_aval(name, i, x):
    x = np.asarray(x) if is_number(x) else x
    aval = aval_of(x)
    if aval.dtype.kind not in "biufc":
        raise DTypeError(f"{name}: leaf {i} of the arguments is {describe(x)}, not an array of numbers")
    return aval
