"""NumPy's own functions and operators on layer values and containers, for every operation that has a card.

`np.sin(x)`, `np.sum(x, axis=0)`, `ndarray @ x` arrive here by NumPy's protocols (NEP 13 and 18) and call the operation;
all else is an error that names what to use. Nothing becomes an array of objects.
"""

import functools
import inspect

import numpy as np

from ..dispatch import Array, Container, DTypeError, Layer, MissingRuleError
from .avals import dtype_of
from .card import operations
from .ops import create

_functions = {}  # NumPy function or ufunc -> generic function
_answers = {}  # NumPy function -> function of the same parameters, for what is no operation
_registered = set()  # names of the operations that were looked at
_reductions = {}  # ufunc -> generic function for ufunc.reduce
ALIASES = {"max": ("amax",), "min": ("amin",)}  # further NumPy functions of the same meaning
RENAMED = {"newshape": "shape", "a_min": "min", "a_max": "max"}  # NumPy's names for parameters of cards
UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K"}
WITHOUT_MEANING = ("copy", "subok")  # results are new arrays of our own types in any case


def register(function, *names):
    """Answer for NumPy's functions of these names (`linalg.solve` for one in a module) with a generic function."""
    for name in names:
        target = functools.reduce(lambda found, part: getattr(found, part, None), name.split("."), np)
        if target is not None:
            _functions[target] = function


def _register_cards():
    for name in [name for name in operations if name not in _registered]:
        register(operations[name], *operations[name].card.numpy, *ALIASES.get(name, ()))
        _registered.add(name)


def _find(function):
    """The operation that answers for a NumPy function, or None; cards declared since it was last asked are seen."""
    if function not in _functions and not operations.keys() <= _registered:
        _register_cards()
    return _functions.get(function)


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    if any(not isinstance(x, Array) and hasattr(type(x), "__array_ufunc__") for x in inputs):
        return NotImplemented  # another library's array: it may know what to do with ours
    op = _find(ufunc)
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    _refuse_out(name, kwargs.pop("out", None))
    if method == "reduce" and ufunc in _reductions:
        return _reduce(name, self, ufunc, *inputs, **kwargs)
    if ufunc is np.divmod and method == "__call__" and not kwargs:
        return _functions[np.floor_divide](*inputs), _functions[np.remainder](*inputs)
    if op is None or method != "__call__":
        raise _missing(name, self)
    dtype = kwargs.pop("dtype", None)
    params = {k: v for k, v in kwargs.items() if k in op.generic.params}
    for key in set(kwargs) - set(params):
        _refuse_unless_default(name, self, key, kwargs[key], UFUNC_DEFAULTS.get(key))
    xs = [_listed(x) for x in inputs]
    if dtype is None:
        return op(*xs, **params)
    return _in_dtype(name, op, xs, dtype, params)


def _array_function(self, function, types, args, kwargs):
    if not all(issubclass(t, (Array, np.ndarray)) for t in types):
        return NotImplemented  # another library's array: it may know the function
    name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
    if function in _answers:
        return _answers[function](*args, **kwargs)
    op = _find(function)
    if op is None:
        raise _missing(name, self)
    xs, params, dtype = _spelled_by_numpy(name, self, function, op, args, kwargs)
    if dtype is None:
        return op(*xs, **params)
    return _in_dtype(name, op, xs, dtype, params)


def _spelled_by_numpy(name, self, function, op, args, kwargs):
    """(arrays, parameters, dtype) for the operation, from a call in NumPy's own spelling."""
    signature = _signature(function)
    count = len(op.generic.arrays)
    arrays = list(signature.parameters)[:count]
    kwargs = {RENAMED.get(k, k): v for k, v in kwargs.items()}
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise MissingRuleError(f"{name} on {type(self).__name__}: {error}; use polyad.{op.__name__}") from None
    given.update(given.pop("kwargs", {}))
    if not set(arrays) <= set(given):
        raise MissingRuleError(f"{name} on {type(self).__name__} takes {count} arrays; use polyad.{op.__name__}")
    params, dtype = {}, None
    for key, value in given.items():
        ours = RENAMED.get(key, key)
        if key in arrays or value is np._NoValue:
            continue
        if ours in op.generic.params:
            params[ours] = value
        elif key == "dtype":
            dtype = value
        elif key == "out":
            _refuse_out(name, value)
        else:
            default = True if key == "where" else getattr(signature.parameters.get(key), "default", None)
            _refuse_unless_default(name, self, key, value, default)
    xs = [given[a] for a in arrays]
    return [[_listed(x) for x in xs[0]]] if op.generic.sequence else [_listed(x) for x in xs], params, dtype


@functools.cache
def _signature(function):
    return inspect.signature(function)


def _listed(x):
    """An array argument; NumPy takes lists of numbers for arrays, so here they are."""
    return create.asarray(x) if isinstance(x, (list, tuple)) else x


def _in_dtype(name, op, xs, dtype, params):
    """The operation computed in a dtype: its arguments are converted first."""
    astype = operations["astype"]
    to = lambda x: x if np.dtype(dtype) == bool else astype(x, dtype=dtype)
    y = op([to(x) for x in xs[0]], **params) if op.generic.sequence else op(*[to(x) for x in xs], **params)
    if dtype_of(y) != np.dtype(dtype):
        raise DTypeError(f"{name}: the result is {dtype_of(y)}, not {np.dtype(dtype)}; convert it with .astype")
    return y


def _reduce(name, self, ufunc, x, axis=0, dtype=None, keepdims=False, **rest):
    for key, value in rest.items():
        _refuse_unless_default(name, self, key, value, {"where": True, "initial": np._NoValue}.get(key))
    op, params = _reductions[ufunc], {"axis": axis, "keepdims": bool(keepdims)}
    if dtype is None:
        return op(x, **params)
    if "dtype" in op.generic.params:
        return op(x, dtype=dtype, **params)
    return _in_dtype(name, op, [x], dtype, params)


# ---------------------------------------------------------------------- refusals
def _missing(name, x):
    return MissingRuleError(
        f"{name} on {type(x).__name__} is not one of polyad's operations; write it with those of polyad, or declare it "
        f"as one with polyad.composite(numpy=({name.partition('.')[2]!r},))"
    )


def _refuse_out(name, out):
    if out is not None and not (isinstance(out, tuple) and all(x is None for x in out)):
        raise MissingRuleError(
            f"{name}: out= would write into an array that a transformation follows; use the returned value "
            "(`x = x + y` instead of `x += y` where x is a plain array)"
        )


def _refuse_unless_default(name, x, key, value, default):
    same = value is default or (type(value) is type(default) and value == default)
    if not same and key not in WITHOUT_MEANING:
        raise MissingRuleError(
            f"{name}: the parameter {key}={value!r} is not offered on {type(x).__name__}; leave it out"
        )


# ---------------------------------------------------------------------- what is no operation
def _round(a, decimals=0, out=None):
    _refuse_out("np.round", out)
    return a.round(decimals)


def _like(make):
    """zeros_like and its kin: constants of the current device."""
    return lambda a, *args, dtype=None, order="K", subok=True, shape=None, device=None: make(
        create.empty(shape, dtype_of(a)) if shape is not None else a, *args, dtype=dtype
    )


ANSWERS = {
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: dtype_of(x).kind == "c",
    "isrealobj": lambda x: dtype_of(x).kind != "c",
    "result_type": lambda *xs: np.result_type(*[dtype_of(x) if isinstance(x, (Layer, Container)) else x for x in xs]),
    "copy": lambda a, order="K", subok=False: a.copy(),
    "round": _round,
    "around": _round,
    "zeros_like": _like(create.zeros_like),
    "ones_like": _like(create.ones_like),
    "empty_like": _like(create.zeros_like),
    "full_like": _like(create.full_like),
    "linspace": create.linspace,
}


def install():
    """Answer NumPy's protocols on `Array` for every card."""
    _register_cards()
    for ufunc, name in ((np.add, "sum"), (np.multiply, "prod"), (np.maximum, "max"), (np.minimum, "min"),
                        (np.logical_and, "all"), (np.logical_or, "any")):  # fmt: skip
        _reductions[ufunc] = operations[name]
    _answers.update({getattr(np, name): answer for name, answer in ANSWERS.items()})
    Array.__array_ufunc__ = _array_ufunc
    Array.__array_function__ = _array_function
