"""`scalar_rule`: a function of numbers and its partial derivatives, in one line, as an operation with all layers."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..dispatch import HostArray, RegistrationError, describe, isa
from .card import elementwise
from .numpy_calls.protocol import answer_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dispatch.annotations import AnyArray, P
    from .card import Operation

ARGUMENT_NAMES = "xyzuvw"


@overload
def scalar_rule(
    function: Callable[..., Any],
    /,
    *derivatives: Any,
    partials: Any = None,
    name: str | None = None,
    vectorized: bool | None = None,
    **facts: Any,
) -> Operation[..., AnyArray]: ...
@overload
def scalar_rule(
    function: None = None, /, *, partials: Any, name: str | None = None, vectorized: bool | None = None, **facts: Any
) -> Callable[[Callable[P, Any]], Operation[P, AnyArray]]: ...
def scalar_rule(
    function: Callable[..., Any] | None = None,
    /,
    *derivatives: Any,
    partials: Any = None,
    name: str | None = None,
    vectorized: bool | None = None,
    **facts: Any,
) -> Any:
    """An elementwise operation from a function of numbers and its partial derivatives (ChainRules' `@scalar_rule`).

    function: of one or more numbers: a NumPy ufunc (SciPy's special functions are), a `numpy.vectorize`d function, or a
        plain function of Python numbers, which is called element by element (vectorized=True: it takes whole arrays).
    derivatives, or partials=[…]: for each argument a function (y, *xs) of the value and the arguments, written in
        operations; 1 or -1; None for an argument without derivative. name: of the operation, that of the function unless given.
    facts: further ones of `polyad.elementwise`, such as singular=True for a partial that can be infinite.
    Returns the operation: it broadcasts, keeps float32, and has both modes, lanes and traces. From then on a ufunc that
    polyad does not know itself is answered for on followed values, too. `@scalar_rule(partials=[…])` above a `def` makes
    it of that function. Complex arguments need partials that are complex derivatives. Raises RegistrationError.

    >>> import math, numpy as np, polyad as pa
    >>> gauss = pa.scalar_rule(lambda x: math.exp(-x * x), lambda y, x: -2 * x * y, name="gauss")
    >>> pa.grad(lambda x: pa.sum(gauss(x)))(np.array([0.0, 1.0]))
    array([-0.        , -0.73575888])
    >>> @pa.scalar_rule(partials=[lambda z, x, y: y, lambda z, x, y: x])
    ... def product(x, y):
    ...     return x * y
    >>> pa.grad(product, (0, 1))(2.0, 3.0)
    (np.float64(3.0), np.float64(2.0))
    """
    module = sys._getframe(1).f_globals.get("__name__", "__main__")
    if function is None:
        return lambda given: _operation(given, partials, name, vectorized, facts, module)
    return _operation(function, partials if partials is not None else derivatives, name, vectorized, facts, module)


def _operation(function, partials, name, vectorized, facts, module):
    name = name or getattr(getattr(function, "pyfunc", function), "__name__", "")
    _check(function, partials, name)
    partials = list(partials)
    names = _names(function, len(partials))
    scope = {"__name__": module}
    exec(f"def {name}({', '.join(names)}, /): pass", scope)
    prototype = scope[name]
    prototype.__doc__ = inspect.getdoc(function) or f"`{name}` of each element."
    op = elementwise(partials=partials, kernel=None, **facts)(prototype)
    if vectorized is None:
        vectorized = isinstance(function, np.ufunc) or getattr(function, "otypes", None) is not None
    kernel = (lambda *xs: function(*xs)) if vectorized else _by_element(getattr(function, "pyfunc", function))
    kernel.__wrapped__ = getattr(function, "pyfunc", function)
    op.generic.add(kernel, (HostArray,) * len(partials))
    if isinstance(function, np.ufunc):
        answer_for(function, op)
    return op


def _check(function, partials, name):
    if not callable(function):
        raise RegistrationError(f"scalar_rule: {describe(function)} is no function")
    if not name.isidentifier():
        raise RegistrationError(f"scalar_rule: {name or describe(function)} is no name for an operation; give name=…")
    if not isinstance(partials, (tuple, list)) or not partials:
        raise RegistrationError(
            f"scalar_rule({name}): give a partial derivative for each argument, such as scalar_rule(f, lambda y, x: …) or "
            f"partials=[…], a list, not {describe(partials)}"
        )
    for p in partials:
        if not (callable(p) or p is None or isa(p, (int, float)) and p in (1, -1)):
            raise RegistrationError(
                f"scalar_rule({name}): a partial derivative is a function (y, *xs), 1, -1 or None, not {describe(p)}"
            )
    if isinstance(function, np.ufunc) and (function.nin != len(partials) or function.nout != 1):
        raise RegistrationError(
            f"scalar_rule({name}): the ufunc takes {function.nin} argument(s) and gives {function.nout} result(s), but "
            f"{len(partials)} partial derivative(s) are given; scalar_rule needs one for each argument, and one result"
        )


def _names(function, count):
    """The names of the arguments: the function's own, where it shows them."""
    try:
        own = [p.name for p in inspect.signature(getattr(function, "pyfunc", function)).parameters.values()]
    except (TypeError, ValueError):
        own = []
    if len(own) < count or isinstance(function, np.ufunc):
        return list(ARGUMENT_NAMES[:count]) if count <= len(ARGUMENT_NAMES) else [f"x{i}" for i in range(count)]
    return own[:count]


def _by_element(function):
    """A function of Python numbers, element by element, in the dtype of the arguments (whole numbers: float64)."""

    def kernel(*xs):
        dtype = np.result_type(*xs)
        dtype = dtype if dtype.kind in "fc" else np.dtype(float)
        elements = np.frompyfunc(function, len(xs), 1)(*xs)
        y = np.asarray(np.asarray(elements, object).tolist(), None if np.size(elements) else dtype)
        return y.reshape(np.shape(elements)).astype(np.result_type(dtype, 1j) if y.dtype.kind == "c" else dtype)[()]

    return kernel
