"""Calls of Python functions as operations: `pure_call`, which is a function of its arguments, and `effect_call`, which does
something beside its result. Users write `callback`, `io_callback` and `debug_print` (dsl/effects.py)."""

from types import FunctionType, NoneType

import numpy as np

from ...dispatch import Array, DTypeError, MissingRuleError, ShapeError, StructureError, describe, isa, users_code
from ..array_libraries import asarray_like, host_copy
from ..avals import Aval, is_number, shape_of
from ..card import opaque
from .shape import broadcast_to, reshape

REASONS = {"samples": "it calls any function: tests/dsl/test_effects.py"}


@opaque(kernel=None, numpy=(), no_rule=REASONS)
def pure_call(*xs, f, result, lanes="each"):
    """`f(*xs)` for a Python function of NumPy arrays, as a tuple of arrays.

    xs: at least one array. f: function of as many NumPy arrays, which it may only read; it returns a list or tuple of arrays
    (one array if there is one result). result: tuple of Avals, the shapes and dtypes of the results. lanes: under `vmap`,
    "each" calls f for each lane; "all" once, with the lanes as axis 0 of every argument and result.
    Raises ShapeError, DTypeError, StructureError for other results, MissingRuleError for a derivative.
    """


@opaque(kernel=None, numpy=(), effect=True, no_rule=REASONS)
def effect_call(*xs, f, result, lanes="each"):
    """As `pure_call`, for a function that does something beside its result: it is called once per executed step, in order.

    Raises ShapeError, DTypeError, StructureError for results of other shapes and dtypes, MissingRuleError for a derivative.
    """


def name_of(f):
    """A function in messages."""
    return getattr(f, "__name__", None) or type(f).__name__


callbacks = [0]  # how many have been called


def _carry_out(*xs, f, result, lanes):
    callbacks[0] += 1
    with users_code():
        given = f(*map(_readable, xs))
    if not result:
        return ()
    parts = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(parts) != len(result):
        raise StructureError(
            f"callback of {name_of(f)}: it returned {len(parts)} array(s) where {len(result)} were announced; return what "
            "`result` says"
        )
    return tuple([_match_announced(y, aval, f, xs) for y, aval in zip(parts, result, strict=True)])


def _readable(x):
    """x as a NumPy array (or scalar) that the function cannot change."""
    x = host_copy(x)
    if type(x) is np.ndarray and x.ndim:
        x = x.view()
        x.flags.writeable = False
        return x
    return x[()]


def _match_announced(y, aval, f, xs):
    """A result as an array of the announced shape and dtype, on the device of the arguments, that is nobody else's."""
    who = f"callback of {name_of(f)}: it returned"
    if not isinstance(y, Array):
        raise DTypeError(f"{who} {describe(y)} where {aval} was announced; return a NumPy array or a number")
    found = host_copy(y)
    if found.shape != aval.shape:
        raise ShapeError(f"{who} {describe(y)} of shape {list(found.shape)} where {aval} was announced; reshape it")
    if not np.can_cast(found.dtype, aval.dtype, "same_kind"):
        raise DTypeError(f"{who} {describe(y)} of dtype {found.dtype} where {aval} was announced; convert it with astype")
    example = next((x for x in xs if not isa(x, np.generic) and not is_number(x)), None)
    if example is None or type(example) is np.ndarray:
        return np.array(found, aval.dtype)[()]
    return asarray_like(np.array(found, aval.dtype), example)


def _no_derivative(op, f):
    return MissingRuleError(
        f"callback of {name_of(f)}: a Python function called by {op.__name__} has no derivative; wrap the call in custom_jvp "
        "or custom_vjp and give one, or cut it off with stop_gradient(x) on the arguments"
    )


CONSTANTS = (bool, int, float, complex, str, bytes, NoneType)


def same_function(f, g):
    """Test whether two functions are the same, though the code that makes them may have run twice: of one code, with the same
    values."""
    if f is g or f == g:
        return True
    if type(f) is not FunctionType or type(g) is not FunctionType or f.__code__ is not g.__code__:
        return False
    return _values_of(f) == _values_of(g)


def _values_of(f):
    """List what a function has beside its code, by identity unless it is a number or text."""
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    values = [*cells, *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    plain = lambda v: (type(v), v) if isinstance(v, CONSTANTS) else id(v)
    return [plain(v) for v in values]


class Caller:
    """Base of callable objects around a function `f`: equal if they do the same, so that code that runs twice makes equal
    ones."""

    __name__: str

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        mine, others = vars(self), vars(other)
        return all([same_function(v, others[k]) if k == "f" else v == others[k] for k, v in mine.items()])

    def __hash__(self):
        return hash((type(self), self.__name__))


class EachLane(Caller):
    """A function of arrays as one of all lanes at once, called for one lane after the other.

    result: Avals of one lane. mapped: which arguments have the lanes as axis 0.
    """

    def __init__(self, f, size, result, mapped):
        self.f, self.size, self.result, self.mapped = f, size, result, tuple(mapped)
        self.__name__ = name_of(f)

    def __call__(self, *xs):
        columns = [np.empty((self.size, *aval.shape), aval.dtype) for aval in self.result]
        for lane in range(self.size):
            own = [x[lane] if m else x for x, m in zip(xs, self.mapped, strict=True)]
            for column, y in zip(columns, _carry_out(*own, f=self.f, result=self.result, lanes="each"), strict=True):
                column[lane] = y
        return columns

    def as_code(self, source):
        """This as a Python expression. source: function(value) -> expression."""
        return f"pa.dsl.ops.effects.EachLane({source(self.f)}, {self.size}, {source(self.result)}, {self.mapped!r})"

    def __repr__(self):
        return f"EachLane({self.__name__},{self.size})"


class Elsewhere(Caller):
    """A function that does nothing, in lanes that another process has: its results are zeros."""

    def __init__(self, f, result):
        self.f, self.result, self.__name__ = f, result, name_of(f)

    def __call__(self, *xs):
        return [np.zeros(aval.shape, aval.dtype) for aval in self.result]

    def as_code(self, source):
        """This as a Python expression. source: function(value) -> expression."""
        return f"pa.dsl.ops.effects.Elsewhere({source(self.f)}, {source(self.result)})"


def _install(op):
    op.generic.add(_carry_out, (), Array)
    op.rule("shape")(lambda *xs, f, result, lanes: tuple(result))

    @op.rule("jvp")
    def jvp(dxs, y, *xs, f, result, lanes):
        if any(aval.dtype.kind in "fc" for aval in result):
            raise _no_derivative(op, f)
        return (None,) * len(result)

    @op.rule("vjp_all")
    def vjp_all(ct, y, *xs, f, result, lanes):
        raise _no_derivative(op, f)

    @op.rule("batch")
    def batch(size, xs, batched, f, result, lanes):
        wide = tuple([Aval((size, *aval.shape), aval.dtype) for aval in result])
        if lanes == "all":
            xs = [x if b else _in_all(x, size) for x, b in zip(xs, batched, strict=True)]
            return op(*xs, f=f, result=wide, lanes=lanes)
        return op(*xs, f=EachLane(f, size, result, batched), result=wide, lanes=lanes)


def _in_all(x, size):
    """A value that is the same in all lanes, with the lanes as axis 0."""
    x = np.asarray(x)[()] if is_number(x) else x
    return broadcast_to(reshape(x, shape=(1, *shape_of(x))), shape=(size, *shape_of(x)))


_install(pure_call)
_install(effect_call)
effect_call.rule("elsewhere")(lambda params: {**params, "f": Elsewhere(params["f"], params["result"])})
