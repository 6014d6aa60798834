"""Higher derivatives in one pass, by Taylor series: `jet` for functions of arrays and trees, `derivatives` of one number."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ...dispatch import ShapeError, StructureError, describe, tree
from ...dsl import multiply
from ...dsl.avals import shape_of
from ..inputs import NoTangent, as_inputs, chosen, fitted, is_count, of_function, title, unit_tangent
from ..sweeps import apart, in_structure, results_of, tangent_of
from .series import SeriesRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...dispatch.annotations import P, T


def jet(f: Callable[P, T], primals: Sequence[Any], series: Sequence[Any]) -> tuple[T, list[T]]:
    """Value and derivatives of all orders up to n along a curve, by Taylor mode in one pass.

    f: function of arrays or trees. primals: tuple, its arguments, the point x(0) of a curve x(t). series: tuple with one
    list per argument: the curve's derivatives [x'(0), x''(0), …], n of them, each of the argument's structure and shapes
    (NoTangent for integers, or in place of a list for an argument that stays as it is). Returns (y, [y', y'', …]): the
    value and the n derivatives of y(t) = f(x(t)) at 0. They are derivatives, not Taylor coefficients (those are divided
    by the factorials). With series ([v, 0, 0],) they are the derivatives of f along the direction v. The time grows with
    n², for operations given by their derivative rule with n³, where nested derivatives take 2ⁿ.
    Raises StructureError, ShapeError, DTypeError.

    >>> import polyad as pa
    >>> y, ys = pa.jet(pa.exp, (0.0,), ([2.0, 0.0, 0.0],))
    >>> [float(d) for d in ys]
    [2.0, 4.0, 8.0]
    """
    name = title("jet", f)
    inputs, curves, order = _curves(name, primals, series)
    with SeriesRun(name, order) as run:
        seen = []
        for (xs, structure), columns in zip(inputs, curves, strict=True):
            moves = [any([c is not None for c in column]) for column in columns]
            wrapped = [run.wrap(x, column) if m else x for x, column, m in zip(xs, columns, moves, strict=True)]
            seen.append(tree.unflatten(structure, wrapped))
        results: Any = results_of(run, f, seen, has_aux=False)
    if results is None:
        return of_function(f, lambda g: jet(g, primals, series))
    pairs, shape, _ = results
    values = [v for v, _ in pairs]
    given = [c for columns in curves for column in columns for c in column]
    found = []
    for k in range(1, order + 1):
        row = apart([_scaled(cs[k - 1], math.factorial(k)) for _, cs in pairs], given)
        given += row
        found.append(in_structure(shape, [tangent_of(v, t) for v, t in zip(values, row, strict=True)], values))
    return tree.unflatten(shape, values), found


def _scaled(c, factor):
    return c if c is None or factor == 1 else multiply(float(factor), c)


def _curves(name, primals, series):
    """Per argument (leaves, structure), and per leaf its Taylor coefficients, None where zero; and how many there are."""
    tuples = isinstance(primals, (tuple, list)) and isinstance(series, (tuple, list))
    if not tuples or len(primals) != len(series):
        raise StructureError(
            f"{name}: primals and series are tuples with one entry per argument, such as (x,) and ([dx, ddx],), not "
            f"{describe(primals)} and {describe(series)}"
        )
    lengths = {}
    for n, terms in enumerate(series):
        if terms is not NoTangent:
            if not isinstance(terms, (list, tuple)):
                raise StructureError(
                    f"{name}: the series of argument {n} is {describe(terms)}; give the list of its derivatives along the "
                    "curve, such as [dx, ddx], or polyad.NoTangent if it does not change"
                )
            lengths[n] = len(terms)
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{length} for argument {n}" for n, length in lengths.items())
        raise StructureError(f"{name}: the series differ in length ({said}); give each the same, zeros at the end")
    order = max(lengths.values(), default=0)
    inputs, curves = [], []
    for n, (x, terms) in enumerate(zip(primals, series, strict=True)):
        leaves, structure = tree.flatten(x)
        leaves = as_inputs(name, n, leaves, x)
        rows = [_match_leaves(name, n, k, dx, x, leaves, structure) for k, dx in enumerate(() if terms is NoTangent else terms)]
        inputs.append((leaves, structure))
        columns = [[row[i] for row in rows] or [None] * order for i in range(len(leaves))]
        curves.append([[_scaled(c, 1 / math.factorial(k)) for k, c in enumerate(column, 1)] for column in columns])
    return inputs, curves, order


def _match_leaves(name, n, k, dx, x, leaves, structure):
    """The derivative number k of argument n as a list of leaves, None for NoTangent."""
    if dx is NoTangent:
        return [None] * len(leaves)
    given = tree.match(structure, dx, f"{name}: series of argument {n}, entry {k}")
    where = lambda i: f"{name}: entry {k} of the series of argument {n}{tree.paths(x)[i]}"
    return [fitted(t, v, functools.partial(where, i)) for i, (v, t) in enumerate(zip(leaves, given, strict=True))]


def derivatives(f: Callable[[Any], T], n: int) -> Callable[[Any], list[T]]:
    """A function that returns [f(x), f'(x), …, the n-th derivative] for one number x, by Taylor mode in one pass.

    f: function of one real (or complex, if f is complex differentiable) number; its result may be any array or tree. n:
    how many derivatives. For arrays use `vmap`, for curves and directions `jet`. Raises ShapeError, DTypeError.

    >>> import polyad as pa
    >>> [float(d) for d in pa.derivatives(lambda x: x**3, 4)(2.0)]
    [8.0, 12.0, 12.0, 6.0, 0.0]
    """
    name = title("derivatives", f)
    if not is_count(n, 0):
        raise ShapeError(f"{name}: n is a number of derivatives, a whole number from 0, not {n!r}")

    @functools.wraps(f)
    def all_of(x) -> Any:
        chosen(name, f, (x,), {}, 0)
        leaves, structure = tree.flatten(x)
        if structure is not tree.LEAF or shape_of(x) != ():
            raise ShapeError(
                f"{name}: the argument is {describe(x)}; derivatives needs one floating number (map it over arrays with "
                "vmap; for directions in arrays and trees use jet)"
            )
        (x,) = as_inputs(name, 0, leaves, x)
        result = jet(f, (x,), ([unit_tangent(x), *[NoTangent] * (n - 1)][:n],))
        if callable(result):
            return of_function(f, lambda g: derivatives(g, n)(x))
        y, ys = result
        return [y, *ys]

    return all_of
