"""Python operators and array methods of layer values and containers: each is the operation of the same meaning."""

from ..dispatch import Array, Container, Layer, ShapeError, refuse
from ..dispatch.errors import MethodError
from .avals import dtype_of, ndim_of
from .ops import arithmetic, bitwise, compare, complex, exponential, indexing, linalg, reduce, shape

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
    "all": reduce.all, "any": reduce.any, "squeeze": shape.squeeze, "ravel": shape.ravel, "flatten": shape.ravel,
    "swapaxes": shape.swapaxes, "astype": complex.astype, "conj": complex.conj, "conjugate": complex.conj,
    "dot": linalg.dot, "take": indexing.take, "clip": arithmetic.clip,
}  # fmt: skip


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


def _length(self):
    if not ndim_of(self):
        raise TypeError(f"len() of {type(self).__name__} of an array without axes")
    return self.shape[0]


def _copy(self):
    return complex.astype(self, dtype=dtype_of(self))


def _round(self, decimals=0):
    """Nearest number of so many decimals, halves to even; integers stay."""
    if dtype_of(self).kind in "iub":
        return self
    if not decimals:
        return arithmetic.rint(self)
    return arithmetic.rint(self * 10.0**decimals) / 10.0**decimals


def _contains(self, value):
    return bool(reduce.any(compare.equal(self, value)))


def _concrete(self, name):
    """The one element of a layer value for Python, which a layer may refuse or split lanes for."""
    if self.size != 1:
        raise ShapeError(f"{name}() of an array of shape {list(self.shape)} is ambiguous; use .any() or .all()")
    return self.concrete().reshape(()).item()


def _truth(self):
    """Numbers are asked whether they are zero: lanes split by that, not by their values."""
    return _concrete(self if dtype_of(self).kind == "b" else compare.not_equal(self, 0), "bool")


def _format(self, spec):
    """Formatted as the number it stands for: text carries no derivative."""
    return format(_concrete(self, "format"), spec) if spec else str(self)


def _index(self):
    if dtype_of(self).kind not in "iu":
        raise TypeError(f"only integer values can be used as an index, not {self.dtype}")
    return _concrete(self, "index")


def _refused(what, advice):
    def method(self, *args, **kwargs):
        refuse(self, what, advice)

    return method


def install():
    """Give `Array` the operators and methods, and `Layer` the conversions that Python asks for."""
    for name, op in BINARY.items():
        setattr(Array, f"__{name}__", _operator(op))
        setattr(Layer, f"__{name}__", op)
        setattr(Array, f"__r{name}__", _reflected(op))
    for name, op in COMPARE.items():
        setattr(Array, f"__{name}__", op)
    for name, op in {f"__{n}__": op for n, op in UNARY.items()}.items():
        setattr(Array, name, op)
    for name, op in METHODS.items():
        setattr(Array, name, op)
    Array.reshape, Array.transpose, Array.copy, Array.round = _reshape, _transpose, _copy, _round
    Array.__round__, Array.__contains__ = _round, _contains
    Layer.__copy__, Layer.__deepcopy__ = _copy, lambda self, memo: _copy(self)
    Array.__getitem__, Array.__iter__, Array.__len__ = indexing.getitem, _iterate, _length
    Array.__array_priority__ = 1000
    Array.__hash__ = object.__hash__
    Array.T = property(lambda self: shape.transpose(self), doc="The array with its axes reversed.")
    Array.mT = property(shape.matrix_transpose, doc="The array with its last two axes exchanged.")
    Array.real = property(lambda self: complex.real(self), doc="Real part.")
    Array.imag = property(lambda self: complex.imag(self), doc="Imaginary part.")
    Array.at = property(indexing.at, doc="`x.at[i].set(v)`: a copy changed at an index.")
    _install_conversions()


def _install_conversions():
    keep = "stay inside the transformation with polyad's operations, or cut it off with polyad.stop_gradient"
    Layer.__bool__, Layer.__index__, Layer.__format__ = _truth, _index, _format
    Layer.__int__ = lambda self: int(_concrete(self, "int"))
    asked = {"__float__": "float()", "__complex__": "complex()", "item": ".item()", "tolist": ".tolist()"}
    for name, what in asked.items():
        setattr(Layer, name, _refused(what, keep))
    Layer.__array__ = _refused(
        "a NumPy array",
        "np.asarray, np.array([x, …]), buffer[i] = x and buffer[x] lose it: use polyad.asarray, polyad.stack, "
        "polyad.at(buffer, i).set(x), polyad.getitem(buffer, x)",
    )
    Layer.__dlpack__ = _refused("DLPack export", keep)
    Container.__array__ = lambda self, dtype=None, copy=None: _dense_array(self, dtype)


def _dense_array(x, dtype):
    """np.asarray of a container: its dense form, guarded."""
    from ..dispatch.containers import densified

    dense = densified(x, "np.asarray")
    return dense if dtype is None else dense.astype(dtype)
