"""Matrices of derivatives: Jacobians by either mode, Hessians, and the product of a Hessian with a vector."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch import MethodError, PolyadError, Remembered, StructureError, as_tangent, is_container, require_whole, tree
from ..dsl import reshape, vmap
from ..dsl.arrays import Zeros
from ..dsl.avals import dtype_of, shape_of
from ..dsl.ops.create import eye_like
from .derived import direction, directional, slope, vjp
from .forward.duals import ForwardRun
from .inputs import (
    NoTangent,
    as_inputs,
    check_inexact,
    chosen,
    inexact,
    is_function,
    made_of_arrays,
    of_function,
    scalar,
    scalar_seed,
    title,
)
from .linear import linearized
from .sweeps import apart, complex_slope, push, record, tangent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dispatch.annotations import P, X


def jacfwd(f: Callable[P, Any], argnums: int | Sequence[int] = 0, allow_int: bool = False) -> Callable[P, Any]:
    """A function that returns the Jacobian of f, by forward mode: one pass over all directions of each leaf.

    f: function of arrays or trees. argnums: position(s) of the arguments to differentiate. The result is a tree of f's
    value whose leaves are trees of the argument (tuples of them for several); each leaf has the shape (value's shape,
    argument's shape). An integer result has NoTangent; so has an integer argument, if allow_int lets it pass. For complex
    z = x + iy an entry is ∂f/∂x - i ∂f/∂y where f is real, as for `grad`, and half of that, Wirtinger's ∂f/∂z, where f is
    complex. Cheapest for few inputs. Raises DTypeError for integer arguments.

    >>> import numpy as np, polyad as pa
    >>> pa.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    return by_columns(title("jacfwd", f), f, argnums, allow_int)


def by_columns(name, f, argnums, allow_int):
    """`jacfwd` on behalf of the transformation `name`, for messages."""

    @functools.wraps(f)
    def jacobian(*args, **kwargs):
        function, leaves, structure = _as_one_tree(name, f, args, kwargs, argnums, allow_int)
        shape = None

        def columns(k, directions):
            """Each result's derivatives along the directions of leaf k, as a last axis; None for integers."""

            def along(direction):
                nonlocal shape
                dxs = [direction if i == k else None for i in range(len(leaves))]
                result = push(name, function, [(leaves, structure)], [dxs])
                if result is None:
                    return None
                values, slopes, shape, _ = result
                require_whole(name, tree.unflatten(shape, values))
                slopes = [tangent_of(v, t) for v, t in zip(values, slopes, strict=True)]
                return [None if t is NoTangent else t for t in slopes]

            return vmap(along, out_axes=-1)(directions)

        matrix = []  # by leaf, then by result
        for k, x in enumerate(leaves):
            if not inexact(x):
                matrix.append(None)
                continue
            found = columns(k, _basis(x))
            if found is None:
                return of_function(lambda *xs: f(*xs, **kwargs), lambda g: by_columns(name, g, argnums, allow_int)(*args))
            if dtype_of(x).kind == "c":
                across = columns(k, 1j * _basis(x))
                found = [None if a is None else complex_slope(a, b) for a, b in zip(found, across, strict=True)]
            block = lambda a, x=x: scalar(reshape(a, shape=(*shape_of(a)[:-1], *shape_of(x))))
            matrix.append([None if a is None else block(a) for a in found])
        if shape is None:  # there is no leaf to differentiate by
            shape = tree.structure(function(tree.unflatten(structure, leaves)))
        jacobian_rows = [[NoTangent if column is None else column[j] for column in matrix] for j in range(shape.num_leaves)]
        return _matrix(shape, [_row(structure, row) for row in jacobian_rows], structure, leaves)

    return jacobian


def jacrev(f: Callable[P, Any], argnums: int | Sequence[int] = 0, allow_int: bool = False) -> Callable[P, Any]:
    """A function that returns the Jacobian of f, by reverse mode; all as for `jacfwd`. Cheapest for few outputs."""
    return by_rows(title("jacrev", f), f, argnums, allow_int)


def by_rows(name, f, argnums, allow_int):
    """`jacrev` on behalf of the transformation `name`, for messages."""

    @functools.wraps(f)
    def jacobian(*args, **kwargs):
        function, leaves, structure = _as_one_tree(name, f, args, kwargs, argnums, allow_int)
        result = record(name, function, [argnums], [tree.unflatten(structure, leaves)])
        if result is None:
            return of_function(lambda *xs: f(*xs, **kwargs), lambda g: by_rows(name, g, argnums, allow_int)(*args))
        return jacobian_rows(result[0])

    return jacobian


def jacobian_rows(pullback):
    """The Jacobian of one recorded evaluation by its one argument, row by row: a tree of the value of trees of the argument."""
    require_whole(pullback.name, pullback.value())
    ((leaves, structure),) = pullback.inputs

    def row(value, index):
        if not inexact(value):
            return NoTangent
        pull = lambda ct: pullback.cotangents([] if index is None else [(index, ct)])
        found = vmap(pull)(_basis(value))
        if dtype_of(value).kind == "c":  # Re(-i dy) = Im(dy)
            across = vmap(pull)(-1j * _basis(value))
            found = [None if a is None else a + 1j * b for a, b in zip(found, across, strict=True)]
            found = [a if a is None else a / 2 if dtype_of(x).kind == "c" else a for a, x in zip(found, leaves, strict=True)]
        block = lambda a: scalar(reshape(a, shape=shape_of(value) + shape_of(a)[1:]))
        parts = [None if a is None else block(a) for a in found]
        return _row(structure, parts)

    return _matrix(pullback.shape, [row(value, index) for value, index in pullback.outputs], structure, leaves)


def _matrix(shape, jacobian_rows, structure, leaves):
    """The tree of a value with a row for each of its leaves. A container of constants alone, such as `Zeros`, has no leaf: it
    has zeros of its own shape and the argument's, `Zeros` again."""
    if shape is tree.LEAF:
        return jacobian_rows[0]
    no_leaves = lambda x: is_container(x) and not tree.leaves(x)
    found = iter(jacobian_rows)

    def place(x):
        if not no_leaves(x):
            return next(found)
        slopes = [Zeros((*x.shape, *shape_of(v)), np.result_type(x.dtype, dtype_of(v))) for v in leaves if inexact(v)]
        slopes = iter(slopes) if inexact(x) else iter(())
        return _row(structure, [next(slopes, None) if inexact(v) else None for v in leaves])

    return tree.map(place, tree.unflatten(shape, [0] * len(jacobian_rows)), is_leaf=no_leaves)


def _as_one_tree(name, f, args, kwargs, argnums, allow_int):
    """f as a function of one tree, the differentiated argument or the tuple of several; its leaves and structure."""
    function, positions, several = chosen(name, f, args, kwargs, argnums, allow_int)
    x = tuple([args[n] for n in positions]) if several else args[positions[0]]
    require_whole(name, x)
    leaves, structure = tree.flatten(x)
    call = (lambda parts: function(*parts)) if several else function
    return call, as_inputs(name, argnums, leaves, x), structure


def _basis(x):
    """The unit arrays of x's shape, along a new leading axis."""
    size = math.prod(shape_of(x))
    return reshape(eye_like(x, size), shape=(size, *shape_of(x)))


def _row(structure, parts):
    """One result's derivatives, in the structure of the argument."""
    parts = [NoTangent if part is None else part for part in parts]
    if parts and all(part is NoTangent for part in parts):
        return NoTangent
    return as_tangent(tree.unflatten(structure, parts))


def jacobian(f: Callable[P, Any], argnums: int | Sequence[int] = 0, allow_int: bool = False) -> Callable[P, Any]:
    """A function that returns the Jacobian of f (see `jacfwd`), by the mode that needs fewer passes at these shapes.

    f runs once for the shapes and once for the derivative; operations with an effect act in the first run alone.
    """
    name = title("jacobian", f)

    @functools.wraps(f)
    def either(*args, **kwargs):
        _, leaves, _ = _as_one_tree(name, f, args, kwargs, argnums, allow_int)
        effects = Remembered()
        with effects:
            results = tree.leaves(f(*args, **kwargs))
        count = lambda xs: sum([math.prod(shape_of(x)) for x in xs])
        with effects.again():
            return (by_rows if count(results) < count(leaves) else by_columns)(name, f, argnums, allow_int)(*args, **kwargs)

    return either


def hessian(f: Callable[P, Any], argnums: int | Sequence[int] = 0, allow_int: bool = False) -> Callable[P, Any]:
    """A function that returns the second derivatives of f, forward over reverse: `jacfwd` of `jacrev`, with its shapes.

    f: function of arrays or trees. Of one real number they are the Hessian, the Jacobian of `grad`; of any other array or tree
    each leaf has the shape (value's shape, argument's shape, argument's shape), as a tree of the value of trees of the
    argument of trees of the argument. For several argnums these are tuples. allow_int: as for `grad`. For complex arguments it
    is the Jacobian ∂/∂z of the gradient, which is all of it if that is complex differentiable; the product with a direction is
    always `hvp`. Raises DTypeError for integer arguments, and where no result is of floating or complex dtype.

    >>> import numpy as np, polyad as pa
    >>> pa.hessian(lambda x: pa.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    >>> pa.hessian(lambda x: x**3)(np.array([1.0, 2.0])).shape
    (2, 2, 2)
    """
    name = title("hessian", f)
    return functools.wraps(f)(by_columns(name, _slopes(name, f, argnums, allow_int), argnums, allow_int))


def _is_real_number(x):
    return shape_of(x) == () and dtype_of(x).kind != "c"


def _slopes(name, f, argnums, allow_int):
    """`grad` of f where its result is one real number, else `jacrev`, on behalf of the transformation `name`."""

    def slopes(*args, **kwargs):
        function, leaves, structure = _as_one_tree(name, f, args, kwargs, argnums, allow_int)
        result = record(name, function, [argnums], [tree.unflatten(structure, leaves)])
        if result is None:
            return of_function(lambda *xs: f(*xs, **kwargs), lambda g: _slopes(name, g, argnums, allow_int)(*args))
        pullback, _ = result
        values = [y for y, _ in pullback.outputs]
        whole = tree.unflatten(pullback.shape, values)
        one_number = shape_of(whole) == () if is_container(whole) else len(values) == 1 and _is_real_number(values[0])
        if any(map(inexact, values)) and not one_number:
            return jacobian_rows(pullback)
        return pullback.pull(scalar_seed(name, pullback.outputs, pullback.shape)[1])[0]

    return slopes


def hvp(f: Callable[[X], Any], x: X, v: Any) -> X:
    """The Hessian of f at x times v, without the Hessian: forward over reverse.

    f: function of one array or tree, with one real number as result. x, v: of equal structure and shapes.
    Raises StructureError, ShapeError, DTypeError.

    >>> import numpy as np, polyad as pa
    >>> pa.hvp(lambda x: pa.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    try:
        return _product(title("hvp", f), f, x, v)
    except TypeError as error:
        if not isinstance(x, tuple) or isinstance(error, PolyadError) and not isinstance(error, MethodError):
            raise
        said = str(error).partition("\n")[0]
        raise StructureError(
            f"{title('hvp', f)}: f was called with the tuple x as its one argument, and failed: {said}; hvp takes the argument "
            "and the direction as they are, hvp(f, x, v), not in tuples as jvp; of a function of several arguments, "
            "hvp(lambda xs: f(*xs), (x, y), (dx, dy))"
        ) from error


def _product(name, f, x, v) -> Any:
    """`hvp` on behalf of the transformation `name`, for messages; a function if f gives one."""
    check_inexact(name, 0, x)
    if type(x) not in (float, np.float64) and not made_of_arrays(x, "fc"):  # containers, whose tangents are of other types
        result = directional(name, lambda x: slope(name, f, (x,), {}), (x,), (v,))
        return of_function(f, lambda g: hvp(g, x, v)) if is_function(result) else result[1]
    leaves, structure, dxs = direction(name, 0, x, v)
    with ForwardRun(name) as run:
        seen = tree.unflatten(structure, [y if dy is None else run.wrap(y, dy) for y, dy in zip(leaves, dxs, strict=True)])
        result = record(name, f, (0,), (seen,))
        if result is None:
            return of_function(f, lambda g: hvp(g, x, v))
        pullback, _ = result
        tangents = pullback.tangents(scalar_seed(name, pullback.outputs, pullback.shape)[1], run, leaves)
    return tree.unflatten(structure, apart(tangents, dxs))


def gvp(outer: Callable[[Any], Any], inner: Callable[[X], Any], x: X, v: Any) -> X:
    """The Gauss-Newton matrix of outer(inner(x)) times v, without the matrix: Jᵀ H J v with J the Jacobian of `inner` at x
    and H the Hessian of `outer` at inner(x).

    outer: function (a loss) of inner's result, with one real number as result. inner: function (a model) of one array or
    tree. x, v: of equal structure and shapes. The Hessian of the composition without the curvature of `inner`, hence
    positive semi-definite where `outer` is convex; the functions come in the order of outer(inner(x)). `inner` is evaluated
    once. Raises StructureError, ShapeError, DTypeError. Source: N. Schraudolph, Neural Computation 14 (2002) 1723.

    >>> import numpy as np, polyad as pa
    >>> pa.gvp(lambda z: pa.sum(z**2), pa.exp, np.zeros(2), np.array([1.0, 3.0]))
    array([2., 6.])
    """
    first, second = title("gvp", inner), title("gvp", outer)
    z, push = _no_function(first, linearized(first, inner, (x,)))
    dz, pull = vjp(push, v)
    return pull(_no_function(second, _product(second, outer, z, dz)))[0]


def _no_function(name, found):
    if is_function(found):
        raise StructureError(f"{name}: the function returns a function, which is no array; call it inside")
    return found
