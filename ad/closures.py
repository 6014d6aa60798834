"""Functions as trees of the arrays that they capture, so that derivatives can be taken by them."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from ..dispatch import Array, MethodError, describe, dtype_of, tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dispatch.annotations import P


class Closure:
    """A callable tree: a function, and what it captures as leaves; made by `closure`.

    names: the captured variables; each is an attribute (`gradient.w`). Calling it calls the function with them.
    """

    def __init__(self, function, names, values):
        self.function, self.names, self.values = function, names, values

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name in self.__dict__.get("names", ()):
            return self.values[self.names.index(name)]
        raise AttributeError(f"{type(self).__name__} has no captured variable {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, f = dict(zip(self.names, self.values, strict=True)), self.function
        if isinstance(f, functools.partial):
            bound = [given.get(f"arg{i}", x) for i, x in enumerate(f.args)]
            return f.func(*bound, *args, **{k: given.get(k, x) for k, x in f.keywords.items()} | kwargs)
        cells = [
            types.CellType(given[name]) if name in given else cell
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        ]
        made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
        made.__kwdefaults__ = f.__kwdefaults__
        return made(*args, **kwargs)

    def __repr__(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self.values, strict=True))
        return f"Closure({getattr(self.function, '__name__', 'partial')}: {shown})"


def closure(f: Callable[P, Any]) -> Closure:
    """A function as a callable tree whose leaves are the arrays and numbers that it captures.

    f: a Python function with captured local variables, or a `functools.partial` (its positional arguments are called arg0,
    arg1, …). Captured trees of arrays count too; all else stays part of the function. The gradient by it is a Closure as
    well, with a cotangent for each variable: `g.w`. Global variables are not captured. Raises MethodError for other callables:
    make those dataclasses with `__call__`, or name their arrays with `polyad.tree.register`.

    >>> import numpy as np, polyad as pa
    >>> def layer(w, b):
    ...     return lambda x: pa.sum(w * x) + b
    >>> f = pa.closure(layer(np.array([1.0, 2.0]), 0.5))
    >>> g = pa.grad(lambda f: f(3.0))(f)
    >>> g.w, float(g.b)
    (array([3., 3.]), 1.0)
    """
    if isinstance(f, functools.partial):
        captured = {**{f"arg{i}": x for i, x in enumerate(f.args)}, **f.keywords}
    elif isinstance(f, types.FunctionType):
        captured = {}
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                captured[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
    else:
        raise MethodError(
            f"closure: {describe(f)} is no Python function or functools.partial; make it a dataclass with __call__, or "
            "name its arrays with polyad.tree.register"
        )
    followed = {name: value for name, value in captured.items() if _holds_arrays(value)}
    return Closure(f, tuple(followed), list(followed.values()))


def _holds_arrays(value):
    leaves = tree.leaves(value)
    if not all(isinstance(leaf, Array) and dtype_of(leaf).kind in "biufc" for leaf in leaves):
        return False
    return any(dtype_of(leaf).kind in "fc" for leaf in leaves)


tree.register(
    Closure,
    lambda c: (c.values, (c.function, c.names)),
    lambda static, values: Closure(static[0], static[1], list(values)),
    names=lambda c: c.names,
)
