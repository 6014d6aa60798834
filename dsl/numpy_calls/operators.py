"""Python operators and array methods of layer values and containers: each is the operation of the same meaning."""

import builtins
import sys
from typing import Any, cast

import numpy as np

from ...dispatch import ConcreteValueError, Container, Layer, ShapeError, describe, snapshot
from ...dispatch.arrays import Array
from ...dispatch.containers import densified
from ...dispatch.errors import MethodError
from ..array_libraries import host_copy
from ..avals import dtype_of, ndim_of
from ..card import operations
from ..ops import (
    arithmetic,
    at,
    bitwise,
    compare,
    complex,
    cumulative,
    exponential,
    indexing,
    linalg,
    rearrange,
    reduce,
    search,
    shape,
    signs,
    sorting,
    statistics,
)
from . import array_methods, assignment, in_place, views
from .hashing import hash_of
from .scipy_names import LANGUAGE, instead

BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "pow": exponential.power,
    "matmul": linalg.matmul,
    "and": bitwise.bitwise_and,
    "or": bitwise.bitwise_or,
    "xor": bitwise.bitwise_xor,
    "lshift": bitwise.bitwise_left_shift,
    "rshift": bitwise.bitwise_right_shift,
    "divmod": lambda x, y: (arithmetic.floor_divide(x, y), arithmetic.remainder(x, y)),
}
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
COMPARE = {
    "eq": compare.equal,
    "ne": compare.not_equal,
    "lt": compare.less,
    "le": compare.less_equal,
    "gt": compare.greater,
    "ge": compare.greater_equal,
}
UNARY = {
    "neg": arithmetic.negative,
    "pos": arithmetic.positive,
    "abs": complex.abs,
    "invert": bitwise.bitwise_invert,
}
METHODS = {
    "sum": reduce.sum, "mean": reduce.mean, "max": reduce.max, "min": reduce.min, "prod": reduce.prod,
    "all": reduce.all, "any": reduce.any, "squeeze": shape.squeeze, "ravel": shape.ravel,
    "swapaxes": shape.swapaxes, "astype": complex.astype,
    "dot": linalg.dot, "take": indexing.take, "clip": arithmetic.clip, "round": signs.round,
    "argmax": search.argmax, "argmin": search.argmin, "argsort": sorting.argsort, "searchsorted": search.searchsorted,
    "cumsum": cumulative.cumsum, "cumprod": cumulative.cumprod, "std": statistics.std, "var": statistics.var,
    "ptp": statistics.ptp, "repeat": rearrange.repeat, "diagonal": rearrange.diagonal, "trace": rearrange.trace,
    "nonzero": search.nonzero,
}  # fmt: skip


BY_NAME = ("argmax", "argmin", "argsort", "compress", "cumprod", "cumsum", "diagonal", "nonzero", "repeat", "searchsorted",
           "std", "trace", "var")  # fmt: skip  # methods of the same name as their operation
INT64_BOUND = 2**63  # beyond the integers of NumPy
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # of the array API standard


def _reflected(op):
    return lambda self, other: op(other, self)


def _operator(op):
    """An operator that lets the other operand try when no method takes the pair."""

    def method(self, other):
        try:
            return op(self, other)
        except MethodError:
            if isinstance(other, Array):
                raise
            return NotImplemented

    return method


def _to_the_power(self, other):
    """x ** y; as in NumPy's arrays x ** 2 is the square, which takes less."""
    return arithmetic.square(self) if type(other) is int and other == 2 else exponential.power(self, other)


def _reshape(self, *lengths):
    """x.reshape(2, 3) or x.reshape((2, 3))."""
    return shape.reshape(self, shape=lengths[0] if len(lengths) == 1 else lengths)


def _transpose(self, *axes):
    """x.transpose(), x.transpose(1, 0) or x.transpose((1, 0))."""
    given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
    return shape.transpose(self, axes=tuple(given) if given else None)


def _iterate(self):
    if not ndim_of(self):
        raise TypeError(f"iteration over {type(self).__name__} of an array without axes")
    return (self[i] for i in range(self.shape[0]))


class _NoLength(TypeError, AttributeError):
    """Of a value without axes: `len(x)` is a TypeError, and `hasattr(x, "__len__")` false, as of a number."""


def _length(self):
    if not ndim_of(self):
        raise _NoLength(f"len() of {type(self).__name__} of an array without axes")
    return self.shape[0]


def _length_of_layer(self):
    return _length.__get__(self) if ndim_of(self) or hasattr(self.standing(), "__len__") else _length(self)


def _conj(self):
    """The complex conjugate; of real numbers, as in NumPy, the array itself."""
    return complex.conj(self) if dtype_of(self).kind == "c" else self


def _flatten(self):
    """A copy as one axis."""
    return snapshot(shape.ravel(self))


def _copy(self):
    return complex.astype(self, dtype=dtype_of(self))


def _contains(self, value):
    return bool(reduce.any(compare.equal(self, value)))


def _concrete(self, name):
    """The one element of a layer value for Python, which a layer may refuse or split lanes for."""
    if self.size != 1:
        raise ShapeError(f"{name}() of an array of shape {list(self.shape)} is ambiguous; use .any() or .all()")
    return host_copy(self).reshape(()).item()  # a comparison inside a derivative is a plain number


def _truth(self):
    """Numbers are asked whether they are zero: lanes split by that, not by their values."""
    return _concrete(self if dtype_of(self).kind == "b" else compare.not_equal(self, 0), "bool")


def _trace_of(self):
    """The trace of a single number that belongs to one without lanes, so that Python's question can be made smaller; else
    None."""
    x = self
    while isinstance(x, Layer) and x.below is not None:
        if getattr(x.run, "axis", None) is not None:
            return None
        x = x.below
    return x.run if isinstance(x, Layer) and not ndim_of(self) else None


def _int(self):
    """int(x); in a trace the question is the whole number, not the value."""
    if dtype_of(self).kind != "f" or _trace_of(self) is None:
        return int(_concrete(self, "int"))
    fits = compare.less(complex.abs(self), float(INT64_BOUND))
    whole = complex.astype(compare.where(fits, self, 0.0), dtype=np.dtype(int))
    n = int(_concrete(compare.where(fits, whole, -INT64_BOUND), "int"))
    if n > -INT64_BOUND:
        return n
    if compare.not_equal(self, self):
        raise ValueError("cannot convert float NaN to integer")
    if compare.equal(complex.abs(self), np.inf):
        raise OverflowError("cannot convert float infinity to integer")
    return int(float(self))


def _round(self, decimals=None):
    """round(x): of one number under jit a whole number, as outside; NumPy's with decimals, of arrays and elsewhere."""
    if decimals is None and dtype_of(self).kind in "fiub" and getattr(_trace_of(self), "answers", False):
        return int(signs.round(self))
    return signs.round(self, decimals=0 if decimals is None else decimals)


def _format(self, spec):
    """Formatted as the number it stands for: text carries no derivative."""
    return format(_concrete(self, "format"), spec) if spec else self._text(format)


def _text(self, form):
    """Return what `form`, str or format, says of a layer value: where derivatives are followed, the text of the plain one."""
    return form(self.below) if self.follows and not self.run.closed else repr(self)


def _hash(self):
    if not self.depth and not self.follows:  # a value of an explicit graph, which has no number yet: by which one it is
        return object.__hash__(self)
    return hash_of(self, lambda x: _concrete(x, "hash"))


def _index(self):
    if dtype_of(self).kind not in "iu":
        raise TypeError(f"only integer values can be used as an index, not {self.dtype}")
    return _concrete(self, "index")


def _namespace(self, /, *, api_version=None):
    """polyad's functions as an array API namespace; versions of the standard are compatible with later ones."""
    language = sys.modules[LANGUAGE]
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"__array_namespace__: api_version={api_version!r} is none of {', '.join(VERSIONS)}")
    return language


BUFFERS = "make an array that it is written into (b[0] = x) with polyad.zeros(shape) or np.zeros_like(followed value)"


def install_operators():
    """Give `Array` the operators and methods, and `Layer` the conversions that Python asks for."""
    classes = (Array, Layer, Container)  # which say to type checkers, in dispatch/annotations.py, what they are given here
    array, layer, container = cast("tuple[Any, Any, Any]", classes)
    for name, op in BINARY.items():
        setattr(array, f"__{name}__", _operator(op))
        setattr(layer, f"__{name}__", op)
        setattr(array, f"__r{name}__", _reflected(op))
        if name != "divmod":
            setattr(layer, f"__i{name}__", assignment.in_place(op, f"{SYMBOLS[name]}="))
    layer.__pow__ = _to_the_power
    for name, op in COMPARE.items():
        setattr(array, f"__{name}__", op)
    for name, op in {f"__{n}__": op for n, op in UNARY.items()}.items():
        setattr(array, name, op)
    for name, op in METHODS.items():
        setattr(array, name, op)
    array.reshape, array.transpose, array.copy = _reshape, _transpose, _copy
    array.__round__ = signs.round
    layer.__round__, layer.__trunc__ = _round, _int
    layer.__floor__, layer.__ceil__ = [lambda self, name=name: int(operations[name](self)) for name in ("floor", "ceil")]
    layer.__copy__, layer.__deepcopy__ = _copy, lambda self, memo: _copy(self)
    for name in BY_NAME:
        if name in operations and not hasattr(array, name):
            setattr(array, name, operations[name])
    array_methods.install_methods(METHODS | {name: operations[name] for name in BY_NAME if name in operations})
    for name, method in in_place.METHODS.items():
        setattr(layer, name, method)
    array.__setitem__ = assignment.setitem
    views.install_views()
    array.conj = array.conjugate = _conj
    array.flatten = _flatten
    array.__getitem__ = indexing.getitem
    for kind in (container, layer):  # each by itself, as layers alone do not show them
        kind.__contains__, kind.__iter__ = _contains, _iterate
    container.__len__, layer.__len__ = _length, property(_length_of_layer)
    array.__array_priority__ = 1000
    array.__hash__ = object.__hash__
    array.T = property(lambda self: shape.transpose(self), doc="The array with its axes reversed.")
    array.mT = property(shape.matrix_transpose, doc="The array with its last two axes exchanged.")
    array.real = property(lambda self: complex.real(self), assignment.set_part(complex.real), doc="Real part.")
    array.imag = property(lambda self: complex.imag(self), assignment.set_part(complex.imag), doc="Imaginary part.")
    array.__array_namespace__ = _namespace
    array.at = property(at.at, doc="`x.at[i].set(v)`: a copy changed at an index.")
    _install_conversions(layer, container)


def _install_conversions(layer, container):
    keep = (
        "stay inside the transformation with polyad's operations or NumPy's (np.sin, not math.sin), cut it off with "
        f"polyad.stop_gradient, or {BUFFERS}"
    )
    layer.__bool__, layer.__index__, layer.__format__ = _truth, _index, _format
    layer.__int__, layer.__hash__ = _int, _hash
    layer._text, layer.__str__ = _text, lambda self: self._text(str)
    asked = {"__float__": "float()", "__complex__": "complex()", "item": ".item()", "tolist": ".tolist()"}
    for name, what in asked.items():
        setattr(layer, name, array_methods.taken_out(name, what, keep))
    layer.__array__ = array_methods.taken_out("__array__", "a NumPy array", _instead_of_array)
    layer.__dlpack__ = array_methods.taken_out("__dlpack__", "DLPack export", keep)
    container.__bool__ = _truth_of_container
    for kind in (float, builtins.complex, int):
        setattr(container, f"__{kind.__name__}__", _number_of_container(kind))
    container.__array__ = _dense_array


def _instead_of_array():
    ours = instead()
    if ours:
        return f"SciPy's function loses it: use {ours}"
    return (
        "np.asarray, np.array([x, …]), np.full(3, x), buffer[i] = x and buffer[x] lose it: use polyad.asarray, polyad.stack, "
        f"polyad.full, polyad.at(buffer, i).set(x), polyad.getitem(buffer, x), or {BUFFERS}"
    )


def _truth_of_container(x):
    """bool of a container, such as that of a comparison: of one element only, as for arrays."""
    if x.size != 1:
        raise ValueError(f"bool() of a {type(x).__name__} of shape {list(x.shape)} is ambiguous; use .any() or .all()")
    y = reduce.any(x.dense() if x.densifies else x)  # of one element: nothing is lost
    if isinstance(y, Container) and not y.densifies:  # it stays one of its type, such as a number that may be missing
        raise TypeError(f"bool() of a {type(x).__name__} is no plain answer; ask the array that is meant ({_leaves_of(y)})")
    return bool(y)


def _number_of_container(kind):
    """float() and its kin of a container, which `math` and writes into plain arrays ask for too."""

    def method(self):
        y = self
        while isinstance(y, Container):
            if not y.densifies:
                raise ConcreteValueError(
                    f"{kind.__name__}() of {describe(y)}: the number alone would lose what the type says of it; use polyad's "
                    "operations or NumPy's (np.sin, not math.sin), keep such values in an array of their own (polyad.stack, "
                    f"polyad.zeros_like), or take the array that is meant, {_leaves_of(y)}"
                )
            y = y.dense()  # one number is not dear
        return kind(y)

    return method


def _leaves_of(x):
    return " or ".join([f"x.{name}" for name in x.leaves])


def _dense_array(x, dtype=None, copy=None):
    """np.asarray of a container: its dense form, guarded, however deep containers lie in one another."""
    if copy is False:
        raise ValueError(f"np.asarray: {type(x).__name__} cannot become an array without a copy; leave out copy=False")
    while isinstance(x, Container):
        x = densified(x, "np.asarray")
    return np.asarray(x, dtype)
