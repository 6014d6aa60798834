"""The tracing layer: values without numbers, which record each operation as an equation of a program."""

import contextlib
import functools
import operator
import threading

import numpy as np

from ..dispatch import (
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
from .avals import Aval, aval_of, dtype_of, infer, is_number, standing_of
from .axes import enclosing_axes
from .batching import lanes_of
from .card import operations
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

    def standing(self):
        """A Python number, an array of the library for which is traced, or what has no axes: a number of NumPy's."""
        var, library = self.var, type(self.run.example)
        host = issubclass(library, (HostArray, type(None)))
        plain = np.ndarray if var.aval.shape else var.aval.dtype.type
        return var.weak or var.standing or (plain if host else library)

    def concrete(self):
        return self.run.answer(self)

    def __repr__(self):
        return f"{type(self).__name__}({self.var.aval})"

    def __str__(self):
        """Text of the numbers where there are some, under jit."""
        return self.run.text(self) if self.run.answers and not self.run.closed else repr(self)

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
            inputs = [a.var if m else r.atom(a) for a, m in zip(args, mine)]
            inputs, weak = settled_numbers(r, generic, inputs, params, known)
            if r.performs:  # it was asked whether a divisor is zero
                return r.perform(generic, args, params)
            avals = inferred(op, inputs, params, known)
            lanes = _lanes(inputs, params) if enclosing_axes() else ()
            outputs = [Var(a, lanes) for a in avals] if isinstance(avals, tuple) else [Var(avals, lanes, weak)]
            if lanes and "lanes" in op.card.rules:
                for var, its in zip(outputs, op.card.rules["lanes"](**params), strict=True):
                    var.lanes = dict(its)
            outputs = r.record(Equation(op, inputs, params, outputs))
            results = [cls(var, r) for var in outputs]
            return several(avals, results) if isinstance(avals, tuple) else results[0]

        return run


REMEMBERED = 256  # results of one operation, whose shapes and dtypes are found once
REGULAR = ("elementwise", "linear", "bilinear", "reduction")


def inferred(op, inputs, params, known):
    """Shapes and dtypes of an operation's results. known: what has been found before, for this operation."""
    avals = [v.aval if isinstance(v, Var) else v for v in inputs]
    if op.card.kind not in REGULAR:
        return infer(op, avals, params)
    key = (*[v if isinstance(v, Aval) else (type(v), v) for v in avals], *[(type(v), v) for v in params.values()])
    try:
        found = known.get(key)
    except TypeError:  # a parameter that cannot be hashed
        return infer(op, avals, params)
    if found is None:
        found = infer(op, avals, params)
        if len(known) < REMEMBERED:
            known[key] = found
    return found


def identity(x):
    """Which value x is, as a key for as long as it is alive: in-place code makes a layer value another one."""
    return (type(x), *[id(getattr(x, name)) for name in x.state]) if isinstance(x, Layer) else id(x)


def as_array(x):
    """A value of a trace that stands for a Python number as one that stands for an array of it; all else as it is."""
    return operations["astype"](x, dtype=x.dtype) if x.var.weak in (float, complex) else x


class _ByOperator(threading.local):
    """Whether an operation was called by an operator, x + y, so that two numbers of Python make another one; a function,
    add(x, y), makes NumPy's."""

    now = False


_by_operator = _ByOperator()


def in_trace(x):
    """Whether a trace follows the value x, or one that it is made of, so that Python does not know it."""
    return any(isinstance(part, Traced) for part in layers_of(x))


def follow_numbers():
    """Have the operators of traced values note that they are operators. To be called once `Layer` has them."""

    def noted(plain, repeats):
        @functools.wraps(plain)
        def method(self, *others):
            if self.var.weak is None:
                return plain(self, *others)
            if repeats and isinstance(others[0], (list, tuple, str, bytes)) and self.dtype.kind in "iu":
                return NotImplemented  # as many times that, which is Python's affair
            _by_operator.now = True
            try:
                return plain(self, *others)
            finally:
                _by_operator.now = False

        return method

    both = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
    names = [*both, *[f"r{n}" for n in both], *[f"i{n}" for n in both]]
    for name in (*names, "neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Traced, f"__{name}__", noted(getattr(Traced, f"__{name}__"), name in ("mul", "rmul")))
    Traced.__divmod__ = lambda self, other: (self // other, self % other)
    Traced.__rdivmod__ = lambda self, other: (other // self, other % self)


# What Python's own operators give, for the operations that stand for them; the type of a result is that of an example.
ARITHMETIC = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "square": lambda x: x * x,
    "negative": operator.neg, "positive": operator.pos, "abs": abs,
}  # fmt: skip
BITWISE = {
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "bitwise_invert": operator.inv,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift,
}  # fmt: skip
COMPARISON = {
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
DIVISION = {"divide", "floor_divide", "remainder"}
OF_WHOLE_NUMBERS = {"power", "bitwise_left_shift", "bitwise_right_shift"}  # where a second one below zero is another matter


def settled_numbers(run, generic, inputs, params, known):
    """(inputs, Python type of the result if that is a number like them, else None): a Python number among the arguments of the
    trace takes the dtype of the arrays that it meets (NEP 50), by a step of its own."""
    if not any([isinstance(v, Var) and v.weak for v in inputs]):
        return inputs, None
    arrays = [v.aval.dtype for v in inputs if isinstance(v, Var) and not v.weak]
    numbers = [v.weak(1) if isinstance(v, Var) else v for v in inputs if not isinstance(v, Var) or v.weak]
    if not arrays:
        return _of_numbers(run, generic.name, inputs, numbers) if _by_operator.now else (inputs, None)
    if generic.card.kind != "elementwise":
        return inputs, None
    arrays = [d for d in arrays if d.kind != "b"] or arrays  # the condition of `where` is none of the operands
    dtype = np.result_type(*arrays, *numbers)
    if generic.name in COMPARISON and dtype.kind in "iu":
        return inputs, None  # 300 is more than any number of 8 bits: nothing is converted
    dtype = _dtype_of_numbers(generic.function, inputs, params, known, dtype)
    return [run.converted(v, dtype or v.aval.dtype) if isinstance(v, Var) and v.weak else v for v in inputs], None


def _dtype_of_numbers(op, inputs, params, known, dtype):
    """The dtype of the numbers with which the result is what it is with Python's own: NumPy's, or of real ones (an order beside
    complex arrays) its real one; None for a number's own (functions to which numbers are in double precision)."""
    given = lambda number: [number(v) if isinstance(v, Var) and v.weak else v for v in inputs]
    wanted = inferred(op, given(lambda v: v.weak(1)), params, known)
    real = all([v.weak is not complex for v in inputs if isinstance(v, Var)])
    for choice in dict.fromkeys([dtype, np.zeros((), dtype).real.dtype if real else dtype]):
        try:
            if inferred(op, given(lambda v, d=choice: Aval((), d)), params, known) == wanted:
                return choice
        except DTypeError:
            continue
    return None


def operator_of(name):
    """Python's operator that stands for the operation just called, if it was called by one; else None."""
    if not _by_operator.now:
        return None
    _by_operator.now = False
    return ARITHMETIC.get(name) or BITWISE.get(name) or COMPARISON.get(name)


def _of_numbers(run, name, inputs, numbers):
    """`settled_numbers` where there are numbers alone: as Python has it, to which True is 1 and a division by zero an error."""
    _by_operator.now = False
    if name in COMPARISON:
        return inputs, bool
    meaning = ARITHMETIC.get(name) or BITWISE.get(name)
    if meaning is None or name in BITWISE and not all([type(n) in (int, bool) for n in numbers]):
        return inputs, None
    if name in DIVISION and isinstance(inputs[1], Var):
        run.no_zero(inputs[1])
    if name == "power" and isinstance(inputs[0], Var) and not isinstance(inputs[1], Var) and numbers[1] < 0:
        run.no_zero(inputs[0])
    kind = type(meaning(*[type(n)(1) for n in numbers]))
    if kind is not bool:  # True & False is none
        inputs = [run.converted(v, np.dtype(int)) if isinstance(v, Var) and v.weak is bool else v for v in inputs]
    if name in OF_WHOLE_NUMBERS and kind is int and run.below_zero(inputs[1]):
        if name != "power":
            raise ValueError("negative shift count")
        return [run.converted(v, np.dtype(float)) if isinstance(v, Var) else float(v) for v in inputs], float
    return inputs, kind


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
        self.around = [(run, run.inner) for run in (*open_runs()[1:], *standing)] if self.captures else []
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
            f"{self.name}: Python asked for the value of {type(x).__name__} of {x.var.aval}, which a trace "
            f"does not have; {self.advice}"
        )

    def ask_around(self):
        """Raise NeedsPython if a trace around can answer Python's questions."""
        runs = open_runs()
        for run in runs if self in runs else ():  # the trace of an explicit graph has nothing around it
            if isinstance(run, TraceRun) and run.of_values:
                if run.answers:
                    raise NeedsPython(run)
                if not run.captures:
                    return

    @property
    def plain(self):
        """A function that gives a traced value as a plain one to Python, None if there is none."""
        self.ask_around()

    def no_zero(self, var):
        """Python divides by this number: that fails for zero."""

    def below_zero(self, number):
        """Whether a whole number, or a Var of one, is negative; a trace that has no values takes it not to be."""
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
        """What an equation reads: the value's Var, a Python number as it is, or a Var for a constant array."""
        x = settled(x)
        if mine or type(x) is Traced[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return x.var
        if is_number(x):
            return x
        if not isinstance(x, Array) or dtype_of(x).kind not in "biufc":
            raise DTypeError(f"{self.name}: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
        key = identity(x)
        known = self.constants.get(key)
        if known is None:
            if isinstance(x, Layer) and x.run.closed:
                raise x.run.leaked()
            weak = x.var.weak if isinstance(x, Traced) else None
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

    name = getattr(f, "__name__", type(f).__name__).strip("<>")
    return functools.wraps(f)(lambda *args: traced(f"make_ir({name})", name, f, args))


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
