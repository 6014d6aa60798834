"""Python numbers in a trace: what operators make of them, and which dtype they take beside arrays (NEP 50, "weak" types)."""

import functools
import operator
import threading

import numpy as np

from ...dispatch import DTypeError
from ..avals import Aval, infer
from ..ir.programs import Var

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


class _ByOperator(threading.local):
    """Return whether an operation was called by an operator, x + y, so that two numbers of Python make another one; a function,
    add(x, y), makes NumPy's."""

    now = False


_by_operator = _ByOperator()


def follow_numbers(cls):
    """Have the operators of traced values, of class `cls`, note that they are operators. To be called once `Layer` has them."""

    def noted(plain, repeats):
        @functools.wraps(plain)
        def method(self, *others):
            if self.variable.weak is None:
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
        setattr(cls, f"__{name}__", noted(getattr(cls, f"__{name}__"), name in ("mul", "rmul")))
    cls.__divmod__ = lambda self, other: (self // other, self % other)
    cls.__rdivmod__ = lambda self, other: (other // self, other % self)


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
