"""NumPy's own functions and operators on layer values and containers, for every operation that has a card.

`np.sin(x)`, `np.sum(x, axis=0)`, `ndarray @ x` arrive here by NumPy's protocols (NEP 13 and 18) and call the operation;
all else is an error that names what to use. Nothing becomes an array of objects.
"""

import functools
import sys

import numpy as np

from ...dispatch import Array, Container, DTypeError, Layer, MissingRuleError, MutationError, describe, is_container, isa, tree
from ..avals import dtype_of
from ..card import operations, outside
from ..ops import create
from . import functions, in_place, signatures, ufunc_methods
from .alternatives import alternative

_functions = {}  # NumPy function or ufunc -> generic function
_answers = {}  # NumPy function -> function of the same parameters, for what is no operation
_registered = set()  # the operations that were looked at
ALIASES = {"max": ("amax",), "min": ("amin",)}  # further NumPy functions of the same meaning
RENAMED = {"newshape": "shape", "a_min": "min", "a_max": "max"}  # NumPy's names for parameters of cards
UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "axes": [(-2, -1)] * 3}  # the axes of `y @= x`
WITHOUT_MEANING = ("copy", "subok")  # results are new arrays of our own types in any case


def register(function, *names):
    """Answer for NumPy's functions of these names (`linalg.solve` for one in a module) with a generic function."""
    _enter(_functions, function, names)


def answer(function, *names):
    """Answer for NumPy's functions of these names with a function of the same parameters."""
    _enter(_answers, function, names)


def answer_for(ufunc, op):
    """Answer for a ufunc of another library with an operation, unless one of ours does."""
    if not ((known := _find(ufunc)) is not None and operations.get(known.__name__) is known):
        _functions[ufunc] = op


def _enter(table, function, names):
    for name in names:
        target = functools.reduce(lambda found, part: getattr(found, part, None), name.split("."), np)
        if target is not None:
            table[target] = function


def _register_cards():
    for op in [*operations.values(), *outside.values()]:
        if op not in _registered:
            register(op, *op.card.numpy, *(ALIASES.get(op.__name__, ()) if operations.get(op.__name__) is op else ()))
            _registered.add(op)


def _find(function):
    """The operation that answers for a NumPy function, or None; cards declared since it was last asked are seen."""
    if function not in _functions:
        _register_cards()
    if function not in _functions and isinstance(function, np.ufunc):
        _register_special()
    return _functions.get(function)


def _register_special():
    """Answer for SciPy's special functions, if it is there: its ufuncs arrive by NumPy's protocol."""
    module = sys.modules.get("scipy.special")
    for op in operations.values():
        home, _, name = (op.card.kernel or "").partition(".")
        if module is not None and home == "special":
            _functions.setdefault(getattr(module, name, None), op)


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    if any([not isa(x, Array) and hasattr(type(x), "__array_ufunc__") for x in inputs]):
        return NotImplemented  # another library's array: it may know what to do with ours
    op = _find(ufunc)
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    if method == "at":
        return in_place.ufunc_at(name, ufunc, *inputs)
    contained = any([isinstance(x, Container) for x in (*inputs, *kwargs.get("out", ()))])
    numbers = None if contained else _taken_out((*inputs, kwargs.get("where", True)), kwargs.get("out"))
    if numbers is not None:
        *numbers, mask = numbers
        return getattr(ufunc, method)(*numbers, **(kwargs | {"where": mask} if "where" in kwargs else kwargs))
    out = _checked_out(name, kwargs.pop("out", None), contained)
    y = _ufunc_result(name, self, op, ufunc, method, [_as_array_argument(x) for x in inputs], kwargs, out)
    return y if out is None else in_place.write_out(name, out, y)


def _ufunc_result(name, self, op, ufunc, method, xs, kwargs, out):
    if method == "reduce":
        return _reduce(name, self, op, ufunc, *xs, **kwargs)
    if method == "accumulate":
        return ufunc_methods.accumulate(name, op, ufunc, *xs, **kwargs)
    if method == "reduceat":
        return ufunc_methods.reduceat(name, ufunc, *xs, **kwargs)
    if ufunc is np.divmod and method == "__call__" and not kwargs:
        return _functions[np.floor_divide](*xs), _functions[np.remainder](*xs)
    if op is None:
        raise _missing(name, self)
    dtype, mask = kwargs.pop("dtype", None), kwargs.pop("where", True)
    params = {k: v for k, v in kwargs.items() if k in op.generic.params}
    for key in set(kwargs) - set(params):
        _refuse_unless_default(name, self, key, kwargs[key], UFUNC_DEFAULTS.get(key))
    if method == "outer":
        return ufunc_methods.outer(op, *xs, **params)
    if mask is not True:
        return ufunc_methods.masked(op, xs, params, mask, out and out[0], name)
    if dtype is None:
        return op(*xs, **params)
    return _in_dtype(name, op, xs, dtype, params)


def _array_function(self, function, types, args, kwargs):
    if not all(issubclass(t, (Array, np.ndarray)) for t in types):
        return NotImplemented  # another library's array: it may know the function
    name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
    contained = any([isinstance(x, Container) for x in tree.leaves(args, is_container)])
    given = _answers.get(function) or (functions.ANSWERS.get(function.__name__) if name.count(".") == 1 else None)
    if given is not None:  # by its name: `np.eye(2, like=x)` arrives as another function than np.eye
        out = _checked_out(name, kwargs.pop("out", None), contained)
        y = given(*args, **kwargs)
        return y if out is None else in_place.write_out(name, out, y)
    op = _find(function)
    if op is None:
        raise _missing(name, self)
    xs, params, options = _spelled_by_numpy(name, self, function, op, args, kwargs)
    out = _checked_out(name, options.get("out"), contained)
    y = _with_options(name, op, xs, params, options)
    return y if out is None else in_place.write_out(name, out, y)


def _with_options(name, op, xs, params, options):
    dtype, reduced = options.get("dtype"), {k: v for k, v in options.items() if k in ("where", "initial")}
    if reduced:
        axis = params.pop("axis", None)
        params = params if dtype is None else {**params, "dtype": dtype}
        return ufunc_methods.reduction(name, op, xs[0], axis, params, reduced.get("where", True), reduced.get("initial"))
    return op(*xs, **params) if dtype is None else _in_dtype(name, op, xs, dtype, params)


def _spelled_by_numpy(name, self, function, op, args, kwargs):
    """(arrays, parameters, options) for the operation, from a call in NumPy's own spelling."""
    count = len(op.generic.arrays)
    if len(args) == count and not kwargs and not op.generic.sequence:  # most calls
        return [_as_array_argument(x) for x in args], {}, {}
    signature = signatures.signature(function)
    arrays = list(signature.parameters)[:count]
    renamed = {RENAMED.get(k) or k: v for k, v in kwargs.items()}
    try:
        given = signature.bind(*args, **renamed).arguments
    except TypeError as error:
        raise MissingRuleError(f"{name} on {type(self).__name__}: {error}; use polyad.{op.__name__}") from None
    given.update(given.pop("kwargs", {}))
    if not set(arrays) <= set(given):
        raise MissingRuleError(f"{name} on {type(self).__name__} takes {count} arrays; use polyad.{op.__name__}")
    params, options = {}, {}
    for key, value in given.items():
        ours = RENAMED.get(key, key)
        if key in arrays or value is np._NoValue:
            continue
        if ours in op.generic.params:
            params[ours] = value
        elif key in ("dtype", "out") or (key in ("where", "initial") and op.card.kind in ("reduction", "composite")):
            if value is not None and not (key == "where" and value is True):
                options[key] = value
        else:
            default = True if key == "where" else getattr(signature.parameters.get(key), "default", None)
            _refuse_unless_default(name, self, key, value, default)
    xs = [given[a] for a in arrays]
    return (
        [[_as_array_argument(x) for x in xs[0]]] if op.generic.sequence else [_as_array_argument(x) for x in xs],
        params,
        options,
    )


def _as_array_argument(x):
    """An array argument; NumPy takes lists of numbers for arrays, so here they are."""
    return create.asarray(x) if isa(x, (list, tuple)) else x


def _in_dtype(name, op, xs, dtype, params):
    """The operation computed in a dtype: its arguments are converted first."""
    astype = operations["astype"]
    to = lambda x: x if np.dtype(dtype) == bool else astype(x, dtype=dtype)
    y = op([to(x) for x in xs[0]], **params) if op.generic.sequence else op(*[to(x) for x in xs], **params)
    if dtype_of(y) != np.dtype(dtype):
        raise DTypeError(f"{name}: the result is {dtype_of(y)}, not {np.dtype(dtype)}; convert it with .astype")
    return y


def _reduce(name, self, op, ufunc, x, axis=0, dtype=None, keepdims=False, where=True, initial=np._NoValue):
    if ufunc not in ufunc_methods.UFUNC_REDUCTIONS:
        if dtype is not None or where is not True or initial not in (None, np._NoValue):
            raise MissingRuleError(f"{name}: dtype=, where= and initial= are not offered")
        return ufunc_methods.fold(name, op, x, axis, bool(keepdims))
    total, params = operations[ufunc_methods.UFUNC_REDUCTIONS[ufunc]], {"keepdims": bool(keepdims)}
    if dtype is not None and "dtype" not in total.generic.params:
        return _in_dtype(name, total, [x], dtype, {**params, "axis": axis})
    params = params if dtype is None else {**params, "dtype": dtype}
    return ufunc_methods.reduction(name, total, x, axis, params, where, initial)


# ---------------------------------------------------------------------- refusals
def _missing(name, x):
    short = name.removeprefix("np.")
    instead = alternative(short)
    advice = (f"use {instead}" if instead.startswith(("polyad", "x.")) else instead) if instead else (
        f"write it with those of polyad, or declare it as one with polyad.composite(numpy=({short!r},))"
    )  # fmt: skip
    return MissingRuleError(f"{name} on {type(x).__name__} is not one of polyad's operations; {advice}")


def _taken_out(inputs, out):
    """Inputs as plain arrays, if `out=` is one and all that follows them can go on with their numbers: jit; else None."""
    if out is None or any([isinstance(x, Layer) for x in (out if isinstance(out, tuple) else (out,))]):
        return None
    followed = [x for x in inputs if isinstance(x, Layer)]
    if any([x.run.closed or getattr(x.run, "plain", None) is None for x in followed]):
        return None
    what = "out=, a write into an array of NumPy's,"
    return [x.run.plain(x, what) if isinstance(x, Layer) else x for x in inputs]


def _checked_out(name, out, contained=False):
    """Return what `out=` names, as a tuple, or None: layer values, and plain arrays if there are containers among the arguments
    (contained), whose result may hold nothing that is followed. MissingRuleError for plain arrays else."""
    out = out if isinstance(out, tuple) or out is None else (out,)
    if out is None or all(x is None for x in out):
        return None
    if any([isinstance(x, Container) for x in out]):
        raise MutationError(f"{name}: out= names {describe(out[0])}, which does not change; use the returned value")
    if contained and all([type(x) is np.ndarray for x in out]):
        return out
    if not all(isinstance(x, Layer) for x in out):
        raise MissingRuleError(
            f"{name}: out= would write into an array that no transformation follows; use the returned value (`x = x + y` "
            "instead of `x += y` where x is a plain array), or make the buffer with polyad.zeros or np.zeros_like(followed)"
        )
    return out


def _refuse_unless_default(name, x, key, value, default):
    same = value is default or (type(value) is type(default) and value == default)
    if not same and key not in WITHOUT_MEANING:
        raise MissingRuleError(f"{name}: the parameter {key}={value!r} is not offered on {type(x).__name__}; leave it out")


def install_protocols():
    """Answer NumPy's protocols on `Array` for every card."""
    _register_cards()
    for name, given in {**functions.ANSWERS, **in_place.FUNCTIONS}.items():
        answer(given, name)
    setattr(Array, "__array_ufunc__", _array_ufunc)  # noqa: B010  of the class that `Array` stands for
    setattr(Array, "__array_function__", _array_function)  # noqa: B010
