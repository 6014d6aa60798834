"""Operations along a named axis: what the lanes of a `vmap` or `pmap` do together.

The result of a sum over the lanes is the same in all of them and is kept as such (`Replicated`): a loss that is one
number for all lanes is counted once, so the transpose of `psum` is the identity, not a second sum. Where such a value
is mixed with values of the lanes, its cotangents are summed over them. Values that no lane owns (constants, arguments
with `in_axes=None`) count once per lane: `psum(1.0, "i")` is the number of lanes.

Once lanes have taken different branches (`Axis.varying`), each of them may do something else with the sum. It is then a
value of each lane, and the transpose of `psum` is a second `psum`, which all lanes meet in the same place: where they met
the first one, backwards, whether they use its result or not.

Several names are one axis whose lanes are numbered in their order, the last fastest. Transposes: of `psum` the value itself,
of `all_gather` a lane's row, of `broadcast` the root's part, `psum_scatter` and `all_gather`, `all_to_all` and itself, of
`ppermute` the way back, of `scan_over_axis` the scan from the other end; of `pmax` and `pmin` the lanes that hold the value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import is_container, tree
from ..avals import dtype_of, is_number, shape_of
from ..axes import find_axis
from .arithmetic import add, multiply
from .lane_collectives import contribution, lane_gather, lane_max, lane_mean, lane_min, lane_prod, lane_sum
from .reduce import mean, sum
from .shape import concatenate, ravel, reshape

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...dispatch.annotations import X


# ---------------------------------------------------------------------- trees and several names
def axes_named(name, axis_name):
    """The axes of a name, or of a tuple of names in its order."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return [find_axis(n, name) for n in names]


def size_of(axes):
    """The number of lanes along several axes as one."""
    return math.prod([axis.size for axis in axes])


def number_along(axes):
    """The number of a lane along several axes as one."""
    number = axes[0].numbers()
    for axis in axes[1:]:
        number = add(multiply(number, axis.size), axis.numbers())
    return number


def each_array(one, tree_of, axes, rows=False):
    """Apply a collective to every array of a tree. Where the lanes lie on several processes, arrays of one dtype go together,
    in one message. rows: the result has a row for each lane."""
    leaves = lambda f, x: tree.map(f, x, is_leaf=is_container)
    if not any([axis.spans_processes for axis in axes]):
        return leaves(one, tree_of)
    units, structure = tree.flatten(tree_of, is_container)
    alike = {}
    for i, x in enumerate(units):
        alike.setdefault(i if is_container(x) or is_number(x) else dtype_of(x), []).append(i)
    results = list(units)
    for places in alike.values():
        if len(places) == 1:
            results[places[0]] = one(units[places[0]])
            continue
        y, start = one(concatenate([ravel(units[i]) for i in places])), 0
        for i in places:
            shape = shape_of(units[i])
            end = start + int(np.prod(shape))
            part, wide = (y[:, start:end], (shape_of(y)[0], *shape)) if rows else (y[start:end], shape)
            results[i], start = reshape(part, shape=wide), end
    return tree.unflatten(structure, results)


def _over_names(name, op, x, axis_name, **params):
    """Apply an operation over one axis to every array of a tree, for one axis name after another."""
    for axis in axes_named(name, axis_name):
        x = each_array(lambda array, axis=axis: op(contribution(array, axis), axis_name=axis, **params), x, [axis])
    return x


# ---------------------------------------------------------------------- reductions
def _lane_after_lane(name, fold, x, axis_name):
    """Fold the gathered values of all lanes, so that the order of additions depends on their number alone."""
    for axis in reversed(axes_named(name, axis_name)):
        rows = lambda array, axis=axis: lane_gather(contribution(array, axis), axis_name=axis)
        x = tree.map(lambda y: fold(y, axis=0), each_array(rows, x, [axis], rows=True), is_leaf=is_container)
    return x


def psum(x: X, axis_name: Hashable, *, deterministic: bool = False) -> X:
    """Sum of x over the lanes of a named axis; the result is the same in every lane.

    For derivatives taken inside the map it is one number of all lanes (a loss made of it counts once) as long as no two
    lanes answer a Python `if` differently; then each lane has its own, and the slopes of all lanes' results are summed.

    x: array or tree of arrays. axis_name: name given to an enclosing `vmap` or `pmap`, or a tuple of names. deterministic: the
    lanes are gathered and added in one order, which gives the same bits on any number of ranks, and sends what all lanes have.
    Raises AxisNameError if the name is not bound.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x / pa.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _lane_after_lane("psum", sum, x, axis_name) if deterministic else _over_names("psum", lane_sum, x, axis_name)


def psum_over(x, axis):
    """`psum` over an axis object."""
    return lane_sum(x, axis_name=axis)


def pmean(x: X, axis_name: Hashable, *, deterministic: bool = False) -> X:
    """Mean of x over the lanes of a named axis (see `psum`); integers give floating point.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. deterministic: as for `psum`. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x - pa.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    return _lane_after_lane("pmean", mean, x, axis_name) if deterministic else _over_names("pmean", lane_mean, x, axis_name)


def pmax(x: X, axis_name: Hashable) -> X:
    """Largest value over the lanes of a named axis, elementwise; NaN where any lane has it. Lanes that hold it share the
    derivative equally.

    x: array or tree of arrays, not complex. axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([3., 3.])
    """
    return _over_names("pmax", lane_max, x, axis_name)


def pmin(x: X, axis_name: Hashable) -> X:
    """Smallest value over the lanes of a named axis, elementwise; NaN where any lane has it. Lanes that hold it share the
    derivative equally.

    x: array or tree of arrays, not complex. axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.pmin(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([1., 1.])
    """
    return _over_names("pmin", lane_min, x, axis_name)


def pprod(x: X, axis_name: Hashable) -> X:
    """Product of x over the lanes of a named axis, elementwise, in the dtype of `numpy.prod`; the same in every lane.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.pprod(x, "i"), axis_name="i")(np.array([2.0, 3.0]))
    array([6., 6.])
    """
    return _over_names("pprod", lane_prod, x, axis_name)


# ---------------------------------------------------------------------- the lanes themselves
def axis_index(axis_name: Hashable) -> Any:
    """The number of this lane along a named axis, an integer; of several names, in their order, the last fastest.

    axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x + pa.axis_index("i"), axis_name="i")(np.array([1.0, 1.0]))
    array([1., 2.])
    """
    return number_along(axes_named("axis_index", axis_name))


def axis_size(axis_name: Hashable) -> int:
    """The number of lanes of a named axis, a Python integer; of several names their product.

    axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x / pa.axis_size("i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.5, 1.5])
    """
    return size_of(axes_named("axis_size", axis_name))


def barrier(axis_name: Hashable) -> None:
    """Return when all lanes of a named axis have come here: no lane does what follows before all have done what is before.

    axis_name: a name, or a tuple of names. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: [pa.barrier("i"), x][1], axis_name="i")(np.array([1.0, 3.0]))
    array([1., 3.])
    """
    psum(0, axis_name)


def pvary(x: X, axis_name: Hashable) -> X:
    """x as each lane's own value, where it was one value of all: its cotangents are then each lane's own too, and summed.

    x: array or tree of arrays. axis_name: a name, or a tuple of names. Operations do it by themselves where they mix both
    kinds. Raises AxisNameError.

    >>> import numpy as np, polyad as pa
    >>> f = lambda x: pa.grad(lambda s: pa.sum(pa.pvary(s, "i") * x))(pa.psum(x, "i"))
    >>> pa.vmap(f, axis_name="i")(np.array([1.0, 3.0]))
    array([4., 4.])
    """
    for axis in axes_named("pvary", axis_name):
        one = lambda array, axis=axis: multiply(array, axis.run.constant(np.ones((), dtype_of(array))[()]))
        x = tree.map(one, x)
    return x
