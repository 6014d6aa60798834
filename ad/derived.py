"""What users call: directional derivatives, pullbacks, gradients."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from ..dispatch import ShapeError, StructureError, describe, tree
from ..dsl.avals import dtype_of, shape_of
from .inputs import as_inputs, chosen, fitted, of_function, scalar_seed, selected, title, unit_tangent
from .sweeps import complex_slope, in_structure, push, record, tangent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dispatch.annotations import A, P, T
    from .sweeps import Pullback


@overload
def jvp(f: Callable[P, T], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False) -> tuple[T, T]: ...
@overload
def jvp(
    f: Callable[P, tuple[T, A]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[T, T, A]: ...
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Value and directional derivative (Jacobian-vector product) by forward mode.

    f: function of arrays or trees. primals, tangents: tuples, one entry per argument of f, of equal structure and
    shapes; the tangent of an integer is NoTangent or 0. has_aux: f returns (value, aux). Returns (value, tangent) and
    aux if asked for.
    Raises StructureError, ShapeError, DTypeError.

    >>> import polyad as pa
    >>> y, dy = pa.jvp(pa.sin, (0.0,), (2.0,))
    >>> float(dy)
    2.0
    """
    return directional(title("jvp", f), f, primals, tangents, has_aux)


def directional(name, f, primals, tangents, has_aux=False):
    """`jvp` on behalf of the transformation `name`, for messages."""
    tuples = isinstance(primals, (tuple, list)) and isinstance(tangents, (tuple, list))
    if not tuples or len(primals) != len(tangents):
        raise StructureError(
            f"{name}: primals and tangents are tuples with one entry per argument, such as (x,) and (dx,), not "
            f"{describe(primals)} and {describe(tangents)}"
        )
    inputs, dxs = [], []
    for n, (x, dx) in enumerate(zip(primals, tangents, strict=True)):
        leaves, structure, given = direction(name, n, x, dx)
        dxs.append(given)
        inputs.append((leaves, structure))
    result = push(name, f, inputs, dxs, has_aux)
    if result is None:
        return of_function(f, lambda g: jvp(g, primals, tangents))
    values, slopes, shape, aux = result
    y = tree.unflatten(shape, values)
    dy = in_structure(shape, [tangent_of(v, t) for v, t in zip(values, slopes, strict=True)], values)
    return (y, dy, aux) if has_aux else (y, dy)


def direction(name, n, x, dx):
    """(leaves, structure, tangents of the leaves) of argument n and its tangent, as a forward pass takes them."""
    leaves, structure = tree.flatten(x)
    leaves = as_inputs(name, n, leaves, x)
    given = tree.match(structure, dx, f"{name}: tangent of argument {n}")
    where = lambda i: f"{name}: the tangent of argument {n}{tree.paths(dx)[i]}"
    pairs = zip(leaves, given, strict=True)
    return leaves, structure, [fitted(t, v, functools.partial(where, i)) for i, (v, t) in enumerate(pairs)]


@overload
def vjp(f: Callable[P, T], *primals: Any, has_aux: Literal[False] = False) -> tuple[T, Pullback]: ...
@overload
def vjp(f: Callable[P, tuple[T, A]], *primals: Any, has_aux: Literal[True]) -> tuple[T, Pullback, A]: ...
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Value and the function that pulls cotangents back (vector-Jacobian product) by reverse mode.

    f: function of arrays or trees. primals: its arguments. Returns (value, pullback) and aux if asked for;
    pullback(ct) takes a cotangent of the value's structure, shapes and dtypes and returns a tuple of cotangents, one
    per argument, NoTangent for integers; it may be called any number of times. Cotangents pair without conjugation.
    Raises StructureError, ShapeError, DTypeError.

    >>> import numpy as np, polyad as pa
    >>> y, pullback = pa.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pullback(np.ones(2))[0]
    array([2., 4.])
    """
    result = record(title("vjp", f), f, range(len(primals)), primals, has_aux)
    if result is None:
        return of_function(f, lambda g: vjp(g, *primals))
    pullback, aux = result
    return (pullback.value(), pullback, aux) if has_aux else (pullback.value(), pullback)


def value_and_grad(
    f: Callable[P, T], argnums: int | Sequence[int] = 0, has_aux: bool = False, allow_int: bool = False
) -> Callable[P, tuple[T, Any]]:
    """A function that returns f's value and its gradient, by reverse mode.

    f: function whose result is one real number. argnums: position(s) of the arguments to differentiate. has_aux: f
    returns (value, aux). allow_int: integers and booleans among the arguments have the gradient NoTangent instead of an
    error. The returned function gives (value, gradient), or ((value, aux), gradient); the gradient has the structure of
    the argument (a tuple of them for several). For complex z = x + iy it is ∂f/∂x - i ∂f/∂y.
    Raises DTypeError for integer arguments or complex results, ShapeError for results that are no single number.

    >>> import polyad as pa
    >>> value, slope = pa.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """
    name = title("value_and_grad", f)

    @functools.wraps(f)
    def gradient(*args, **kwargs) -> Any:
        return both(name, f, args, kwargs, argnums, has_aux, allow_int)

    return gradient


def both(name, f, args, kwargs, argnums: Any = 0, has_aux=False, allow_int=False) -> Any:
    """Return what `value_and_grad` gives at these arguments; a function if f gives one. name: of the transformation."""
    function, positions, several = selected(name, f, args, kwargs, argnums)
    result = record(name, function, positions, list(map(args.__getitem__, positions)), has_aux, allow_int)
    if result is None:
        return of_function(lambda *xs: f(*xs, **kwargs), lambda g: value_and_grad(g, argnums, has_aux, allow_int)(*args))
    pullback, aux = result
    y, seeds = scalar_seed(name, pullback.outputs, pullback.shape)
    cts = pullback.pull(seeds)
    y = y if pullback.shape is tree.LEAF else pullback.value()
    return ((y, aux) if has_aux else y), (cts if several else cts[0])


@overload
def grad(
    f: Callable[P, tuple[Any, A]], argnums: int | Sequence[int] = 0, *, has_aux: Literal[True], allow_int: bool = False
) -> Callable[P, tuple[Any, A]]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: Literal[False] = False, allow_int: bool = False
) -> Callable[P, Any]: ...
def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, allow_int: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of f, by reverse mode; see `value_and_grad`.

    With has_aux it returns (gradient, aux).

    >>> import numpy as np, polyad as pa
    >>> pa.grad(lambda x: pa.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    name = title("grad", f)

    @functools.wraps(f)
    def gradient(*args, **kwargs) -> Any:
        return slope(name, f, args, kwargs, argnums, has_aux, allow_int)

    return gradient


def slope(name, f, args, kwargs, argnums: Any = 0, has_aux=False, allow_int=False):
    """Compute what `grad` returns at these arguments."""
    result = both(name, f, args, kwargs, argnums, has_aux, allow_int)
    if type(result) is not tuple:
        return of_function(lambda *xs: f(*xs, **kwargs), lambda g: grad(g, argnums, cast("Any", has_aux), allow_int)(*args))
    y, g = result
    return (g, y[1]) if has_aux else g


def derivative(f: Callable[[Any], T]) -> Callable[[Any], T]:
    """A function that returns the derivative of f by its one scalar argument, by forward mode.

    f's result may be any array or tree, or a function, whose result is then differentiated. For a complex argument see
    `jacfwd`. Raises ShapeError, DTypeError.

    >>> import polyad as pa
    >>> float(pa.derivative(pa.derivative(lambda x: x**3))(2.0))
    12.0
    """

    name = title("derivative", f)

    @functools.wraps(f)
    def slope(x) -> Any:
        function, _, _ = chosen(name, f, (x,), {}, 0)
        leaves, structure = tree.flatten(x)
        if structure is not tree.LEAF or shape_of(x) != ():
            raise ShapeError(
                f"{name}: the argument is {describe(x)}; derivative needs one floating number (for arrays and trees "
                "use jacfwd, jacrev or grad)"
            )
        leaves = as_inputs(name, 0, leaves, x)
        along = lambda t: push(name, function, [(leaves, structure)], [[t]])
        unit = unit_tangent(leaves[0])
        result = along(unit)
        if result is None:
            return of_function(f, lambda g: derivative(g)(x))
        values, slopes, shape, _ = result
        slopes = [tangent_of(v, t) for v, t in zip(values, slopes, strict=True)]
        if dtype_of(x).kind == "c":
            across = along(1j * unit)[1]
            slopes = [complex_slope(a, tangent_of(v, b)) for v, a, b in zip(values, slopes, across, strict=True)]
        return in_structure(shape, slopes, values)

    return slope
