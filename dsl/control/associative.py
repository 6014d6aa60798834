"""`associative_scan`: all partial results of an associative operation in a logarithmic number of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dispatch import ShapeError, StructureError, batch_axis, is_container, tree
from ...dispatch.containers import densified
from ..avals import ndim_of, normalize_axis, shape_of
from ..layers.batch_axes import containers_in, lanes_taken
from ..ops.rearrange import flip
from ..ops.shape import concatenate, reshape, stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import X


def associative_scan(f: Callable[[Any, Any], Any], xs: X, reverse: bool = False, axis: int = 0) -> X:
    """The results of combining the first k elements, for each k: `[x0, f(x0, x1), f(f(x0, x1), x2), …]`.

    f: associative function of two arrays or trees, each with any number of elements along the axis, that combines them element
    by element (as `add`, or `matmul` of stacks of matrices). xs: array or tree, all of one length along `axis`. reverse: from
    the last element on. Returns a tree like xs. It takes about 2 log2(n) calls of f on whole arrays, so every transformation
    follows it; only the order of combination differs from `scan`'s. Raises ShapeError, AxisError, StructureError.

    Source: G. E. Blelloch, Prefix sums and their applications (1990).

    >>> import numpy as np, polyad as pa
    >>> pa.associative_scan(pa.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    units, structure = tree.flatten(xs, is_container)
    if not units:
        return xs
    units, axes = zip(*[_with_axes(unit, axis) for unit in units], strict=True)
    leaves, structure = tree.flatten(tree.unflatten(structure, list(units)))
    axes = [a for places in axes for a in places]
    lengths = {shape_of(x)[a] for x, a in zip(leaves, axes, strict=True)}
    if len(lengths) != 1:
        raise ShapeError(f"associative_scan: the lengths along axis {axis} differ: {sorted(lengths)}; they must agree")
    if reverse:
        leaves = [flip(x, axis=a) for x, a in zip(leaves, axes, strict=True)]

    def combine(left, right):
        out, shape = tree.flatten(f(tree.unflatten(structure, left), tree.unflatten(structure, right)))
        if shape != structure:
            raise StructureError(
                f"associative_scan: f must return what it is given, {tree.show(structure)}, not {tree.show(shape)}"
            )
        for x, y in zip(left, out, strict=True):
            if shape_of(x) != shape_of(y):
                raise ShapeError(
                    f"associative_scan: f returns shape {list(shape_of(y))} for {list(shape_of(x))}; it must keep it, for any "
                    "number of elements along the axis"
                )
        return out

    results = _prefixes(combine, leaves, axes, *lengths)
    if reverse:
        results = [flip(x, axis=a) for x, a in zip(results, axes, strict=True)]
    return tree.unflatten(structure, results)


def _with_axes(x, axis):
    """(x, where its axis is in each of its leaves). A container has it as a batch axis, however deep, or becomes dense."""
    if not is_container(x):
        return x, [normalize_axis("associative_scan", axis, ndim_of(x))]
    place, axes = batch_axis(x, axis, "associative_scan"), []
    if place is None or not tree.leaves(x) or any([place >= c.ndim - c.structure_ndim for c in containers_in(x)]):
        return _with_axes(densified(x, f"associative_scan: axis {axis}"), axis)
    lanes_taken(x, place, lambda leaf, a: axes.append(a) or leaf, "associative_scan")
    return x, axes


def _prefixes(combine, xs, axes, n):
    if n < 2:
        return xs
    pairs = combine(_slice_all(xs, axes, 0, n - 1, 2), _slice_all(xs, axes, 1, n, 2))  # x0 x1, x2 x3, …
    odd = _prefixes(combine, pairs, axes, n // 2)  # results at 1, 3, 5, …
    first = _slice_all(xs, axes, 0, 1, 1)
    count = (n - 1) // 2  # results at 2, 4, …
    if not count:
        return [concatenate([a, b], axis=k) for a, b, k in zip(first, odd, axes, strict=True)]
    even = combine(_slice_all(odd, axes, 0, count, 1), _slice_all(xs, axes, 2, n, 2))
    even = [concatenate([a, b], axis=k) for a, b, k in zip(first, even, axes, strict=True)]
    return [_alternate(a, b, k, n) for a, b, k in zip(even, odd, axes, strict=True)]


def _slice_all(xs, axes, start, stop, step):
    return [x[(slice(None),) * a + (slice(start, stop, step),)] for x, a in zip(xs, axes, strict=True)]


def _alternate(even, odd, axis, n):
    """even[0], odd[0], even[1], odd[1], … along an axis, n in all."""
    paired = shape_of(odd)[axis]
    cut = (slice(None),) * axis
    both = stack([even[(*cut, slice(0, paired))], odd], axis=axis + 1)
    shape = shape_of(odd)
    mixed = reshape(both, shape=(*shape[:axis], 2 * paired, *shape[axis + 1 :]))
    return mixed if n % 2 == 0 else concatenate([mixed, even[(*cut, slice(paired, None))]], axis=axis)
