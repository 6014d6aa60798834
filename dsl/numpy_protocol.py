"""NumPy's own functions and operators on layer values and containers, for every operation that has a card.

`np.sin(x)`, `np.sum(x, axis=0)`, `ndarray @ x` arrive here by NumPy's protocols (NEP 13 and 18) and call the operation; all
else is an error that names what to use. Nothing becomes an array of objects.
"""

import numpy as np

from ..dispatch import Array, MissingRuleError
from .card import operations

_functions = {}  # NumPy function or ufunc -> generic function


def register(function, *names):
    """Answer for NumPy's functions of these names with a generic function."""
    for name in names:
        target = getattr(np, name, None)
        if target is not None:
            _functions[target] = function


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    op = _functions.get(ufunc)
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    if method == "reduce" and ufunc in _reductions:
        return _reduce(name, ufunc, *inputs, **kwargs)
    if op is None or method != "__call__":
        raise MissingRuleError(f"{name} on {type(self).__name__} is not one of polyad's operations")
    if kwargs.get("out") is not None:
        raise MissingRuleError(
            f"{name}: out= would write into an array that a transformation follows; use the returned value "
            "(`x = x + y` instead of `x += y` where x is a plain array)"
        )
    dtype = kwargs.pop("dtype", None)
    if any(v is not True for k, v in kwargs.items() if k == "where") or set(kwargs) - {"out", "where", "casting"}:
        raise MissingRuleError(f"{name}: the parameters {sorted(kwargs)} are not offered on {type(self).__name__}")
    result = op(*inputs)
    return result if dtype is None else operations["astype"](result, dtype=dtype)


def _array_function(self, function, types, args, kwargs):
    op = _functions.get(function)
    if op is None:
        raise MissingRuleError(
            f"np.{function.__name__} on {type(self).__name__} is not one of polyad's operations; write it with those of "
            "polyad.dsl"
        )
    if kwargs.get("out") is not None:
        raise MissingRuleError(f"np.{function.__name__}: out= is not offered; use the returned value")
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    return op(*args, **kwargs)


def _reduce(name, ufunc, x, axis=0, dtype=None, out=None, keepdims=False, **rest):
    if out not in (None, (None,)) or set(rest) - {"where", "initial"} or rest.get("where", True) is not True:
        raise MissingRuleError(f"{name}: only axis, dtype and keepdims are offered")
    params = {} if dtype is None else {"dtype": dtype}
    return _reductions[ufunc](x, axis=axis, keepdims=bool(keepdims), **params)


_reductions = {}


def install():
    """Answer NumPy's protocols on `Array` for every card."""
    for op in operations.values():
        register(op, *op.card.numpy)
    for ufunc, name in ((np.add, "sum"), (np.multiply, "prod"), (np.maximum, "max"), (np.minimum, "min"),
                        (np.logical_and, "all"), (np.logical_or, "any")):  # fmt: skip
        _reductions[ufunc] = operations[name]
    register(operations["transpose"], "permute_dims")
    register(operations["concatenate"], "concat")
    register(_shape, "shape")
    register(_ndim, "ndim")
    register(_size, "size")
    Array.__array_ufunc__ = _array_ufunc
    Array.__array_function__ = _array_function


def _shape(x):
    return x.shape


def _ndim(x):
    return x.ndim


def _size(x, axis=None):
    return x.size if axis is None else x.shape[axis]
