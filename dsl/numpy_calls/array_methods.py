"""The methods and attributes of NumPy's arrays and numbers on followed values, in NumPy's spelling.

A method of an operation's name takes what the operation takes, and all else that NumPy's function of that name does. What is
about memory, or about the digits of one number, belongs to the plain value: jit takes it out of the trace, derivatives refuse.
"""

from typing import Any, cast

import numpy as np

from ...dispatch import DTypeError, Layer, MissingRuleError, PlainMembers, isa, refuse, settled, snapshot, type_name
from ...dispatch.error_causes import questions
from ..avals import dtype_of, ndim_of, shape_of
from ..card import operations
from ..ops import shape as shapes
from ..ops.compare import equal, isfinite, logical_and
from ..ops.complex import astype
from .assignment import setitem
from .in_place import positions, within
from .views import flat

OF_MEMORY = {  # methods of arrays about their memory -> what to write instead
    **dict.fromkeys(("byteswap", "dump", "dumps", "getfield", "setfield", "tobytes", "tofile"), "return the value instead"),
    "view": "x.astype(dtype) converts, and x[...] shares elements",
    "resize": "use x.reshape or polyad.concatenate",
    "partition": "use x.sort()",
    "argpartition": "use x.argsort()",
    "choose": "use polyad.take or polyad.where",
}
OF_DIGITS = {  # what asks for the digits of a number -> what to write instead
    "as_integer_ratio": "statistics, Fraction and the like take plain numbers: use np.mean, np.std, np.var, np.median, or "
    "operations on floating numbers"
}
WRITING = ("byteswap", "partition", "resize", "setfield", "setflags")  # methods that may change the array itself
NUMBERS = (float, complex, int, bool)
PLAIN = (np.ndarray, np.float64, np.complex128, np.int64, np.bool_, *NUMBERS)  # whose attributes there are
ALONE = "for the array alone use polyad.stop_gradient"


# ---------------------------------------------------------------------- operations
def spelled(name, op):
    """The method for an operation: called as the operation is, or as NumPy's function of this name."""
    function, params = getattr(np, name, None), frozenset(op.generic.params)
    count = len(op.generic.arrays)  # x itself, and one parameter more by its place: from the second on NumPy has others

    def method(self, *args, **kwargs):
        if function is None or len(args) <= count and params.issuperset(kwargs):
            return op(self, *args, **kwargs)
        return function(self, *args, **kwargs)

    return method


def _compress(self, condition, axis=None, out=None):
    """x.compress(condition): the condition comes second."""
    return np.compress(condition, self, axis=axis, out=out)


def reordered(name, x, order):
    """Return whether an order of elements is Fortran's, for a value whose layout is not known. Raises MissingRuleError."""
    if order in ("A", "K", "a", "k") and ndim_of(x) > 1:
        raise MissingRuleError(f"{name}: order={order!r} asks how {type(x).__name__} lies in memory; say 'C' or 'F'")
    return order in ("F", "f")


def _reshape(self, *lengths, order="C", copy=None):
    """x.reshape(2, 3) or x.reshape((2, 3))."""
    return reshape(self, lengths[0] if len(lengths) == 1 else lengths, order, copy=copy)


def reshape(a, shape, order="C", *, copy=None):
    """np.reshape."""
    given = {} if copy is None else {"copy": copy}
    if not reordered("reshape", a, order):
        return shapes.reshape(a, shape=shape, **given)
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return shapes.transpose(shapes.reshape(shapes.transpose(a), shape=shape[::-1], **given))


def ravel(a, order="C"):
    """np.ravel."""
    return shapes.ravel(shapes.transpose(a) if reordered("ravel", a, order) else a)


def _flatten(self, order="C"):
    """A copy as one axis."""
    return snapshot(ravel(self, order))


def take(a, indices, axis=None, out=None, mode="raise"):
    """np.take."""
    if mode != "raise":
        n = shapes.size_of(a) if axis is None else shape_of(a)[axis]
        indices = within(positions(indices), n, mode)
    return operations["take"](a, positions(indices) if isa(indices, (list, tuple)) else indices, axis=axis)


def _copy(self, order="C"):
    return astype(self, dtype=dtype_of(self))


def _astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True, **device):
    if casting != "unsafe" and not np.can_cast(dtype_of(self), dtype, cast("Any", casting)):
        raise DTypeError(f"astype: {dtype_of(self)} cannot become {np.dtype(dtype)} by the rule {casting!r}")
    return astype(self, dtype=dtype, copy=copy, **device)


def _is_integer(self):
    """Return whether a number is whole: a question of Python's."""
    if dtype_of(self).kind in "iub":
        return True
    return bool(logical_and(isfinite(self), equal(operations["floor"](self), self)))


OWN = {"reshape": _reshape, "ravel": ravel, "flatten": _flatten, "copy": _copy, "astype": _astype, "compress": _compress}


# ---------------------------------------------------------------------- what belongs to the plain value
def taken_out(name, what, advice):
    """A method that asks the plain value, where there is one: under jit."""

    def method(self, *args, **kwargs):
        value = plain_value(self, name, what, advice)
        return getattr(value if hasattr(value, name) else np.asarray(value), name)(*args, **kwargs)

    questions.add(method.__code__)  # one for all
    return method


def plain_value(x, name, what, advice):
    """The plain value, of a run that can go on with plain numbers. Raises ConcreteValueError elsewhere, and for what writes."""
    plain: Any = None if name in WRITING else getattr(x.run, "plain", None)
    if plain is None:
        refuse(x, what, advice() if callable(advice) else advice)
    return plain(x, what)


class Member:
    """An attribute of plain values that is no operation. name: of it."""

    KNOWN = {
        "itemsize": lambda x: dtype_of(x).itemsize, "nbytes": lambda x: shapes.size_of(x) * dtype_of(x).itemsize,
        "numerator": lambda x: +x, "denominator": lambda x: 1, "flat": flat,
        "is_integer": lambda x: _is_integer.__get__(x),
    }  # fmt: skip

    def __init__(self, name):
        self.name = name

    def __set__(self, x, v):
        if self.name != "flat":
            raise AttributeError(f"attribute {self.name!r} of {type_name(type(x))!r} objects is not writable")
        if isa(settled(x), Layer):
            setitem(flat(x), slice(None), v)
        else:
            settled(x).flat = v

    def __get__(self, x, cls=None):
        if x is None:
            return self
        if not isa(settled(x), Layer):
            return getattr(settled(x), self.name)
        kind = x.standing()
        part = getattr(kind, self.name, None)
        if part is None:
            raise AttributeError(f"{type_name(kind)!r} object has no attribute {self.name!r}")
        if self.name in self.KNOWN:
            return self.KNOWN[self.name](x)
        if getattr(part, "__self__", None) is kind:  # of the class, such as float.fromhex
            return part
        if callable(part):
            return lambda *args, **kwargs: getattr(self.plain(x, kind, "()"), self.name)(*args, **kwargs)
        return getattr(self.plain(x, kind), self.name)

    def plain(self, x, kind, called=""):
        """The plain value as one of the class that it has outside."""
        advice = f"{OF_DIGITS[self.name]}; {ALONE}" if self.name in OF_DIGITS else ALONE
        value = plain_value(x, self.name, f".{self.name}{called}", advice)
        return kind(value) if kind in NUMBERS else np.asarray(value) if kind is np.ndarray else value


def install_methods(methods):
    """Give `Layer` the methods, from a table of operations, and all other public attributes of NumPy's arrays and numbers."""
    for name, op in methods.items():
        setattr(Layer, name, spelled(name, op))
    for name, method in OWN.items():
        setattr(Layer, name, method)
    for name, advice in OF_MEMORY.items():
        setattr(Layer, name, taken_out(name, f".{name}()", f"{advice}; {ALONE}"))
    for name in dict.fromkeys([name for kind in PLAIN for name in dir(kind)]):
        if not name.startswith("_"):
            setattr(PlainMembers, name, Member(name))
