"""Operations along a named axis: what the lanes of a `vmap` or `pmap` do together.

The result of a sum over the lanes is the same in all of them and is kept as such (`Replicated`): a loss that is one
number for all lanes is counted once, so the transpose of `psum` is the identity, not a second sum. Where such a value
is mixed with values of the lanes, its cotangents are summed over them. Values that no lane owns (constants, arguments
with `in_axes=None`) count once per lane: `psum(1.0, "i")` is the number of lanes.
"""


from ...dispatch import Container, is_container, tree
from ..avals import Aval, dtype_of, is_number
from ..axes import Stacked, find_axis
from ..card import opaque
from .arithmetic import divide, multiply
from .reduce import max as max_
from .reduce import min as min_
from .reduce import sum
from .shape import broadcast_to, expand_dims, moveaxis


def _over_names(name, one, x, axis_name):
    """Apply an operation over one axis to every array of a tree, for one axis name after another."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for axis in [find_axis(n, name) for n in names]:
        x = tree.map(lambda array, axis=axis: one(array, axis=axis), x, is_leaf=is_container)
    return x


def psum(x, axis_name):
    """Sum of x over the lanes of a named axis; the result is the same in every lane.

    x: array or tree of arrays. axis_name: name given to an enclosing `vmap` or `pmap`, or a tuple of names.
    Raises AxisNameError if the name is not bound.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x / pa.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _over_names("psum", lane_sum, x, axis_name)


def psum_over(x, axis):
    """`psum` over an axis object."""
    return lane_sum(x, axis=axis)


def pmean(x, axis_name):
    """Mean of x over the lanes of a named axis (see `psum`); integers give floating point."""
    return _over_names("pmean", lambda leaf, axis: divide(lane_sum(leaf, axis=axis), axis.size), x, axis_name)


def pmax(x, axis_name):
    """Largest value over the lanes of a named axis. Lanes that hold it share the derivative equally."""
    return _over_names("pmax", lambda leaf, axis: max_(lane_gather(leaf, axis=axis), axis=0), x, axis_name)


def pmin(x, axis_name):
    """Smallest value over the lanes of a named axis. Lanes that hold it share the derivative equally."""
    return _over_names("pmin", lambda leaf, axis: min_(lane_gather(leaf, axis=axis), axis=0), x, axis_name)


def all_gather(x, axis_name):
    """The values of all lanes, stacked along a new axis 0 in the lanes' order; the same in every lane."""
    return _over_names("all_gather", lane_gather, x, axis_name)


def axis_index(axis_name):
    """The number of this lane along a named axis, an integer."""
    axis = find_axis(axis_name, "axis_index")
    return axis.numbers()


def axis_size(axis_name):
    """The number of lanes of a named axis, a Python integer."""
    return find_axis(axis_name, "axis_size").size


# ---------------------------------------------------------------------- the cards rule neutral: for a value that lies
# below the axis' depth (no lane owns it), which is a collective like any other: in other lanes the same call may get
# a value of the lane; rule batch: over the lanes themselves; rule trace: for the lanes of a map inside the axis
@opaque(kernel=None, numpy=())
def lane_sum(x, /, *, axis):
    """Sum over the lanes of an axis object."""


@lane_sum.rule("neutral")
def lane_sum_neutral(x, *, axis):
    return axis.run.collective("psum", Stacked(x, True), lambda lanes: _total(lanes, axis))


@lane_sum.rule("batch")
def lane_sum_lanes(run, x, *, axis):
    return run.collective("psum", Stacked(x, False), lambda lanes: _total(lanes, axis))


def _total(lanes, axis):
    if not lanes.same:
        return axis.across("sum", sum(axis.own(lanes.value), axis=0))
    count = len(axis.own(range(axis.local)))
    if is_number(lanes.value):
        return axis.across("sum", lanes.value * count)
    one = sum(expand_dims(lanes.value, 0), axis=0)  # in the dtype of a sum: int8 gives int64
    return axis.across("sum", multiply(one, count))


def _wide(lanes, axis):
    return broadcast_to(lanes.value, shape=(axis.local, *lanes.shape)) if lanes.same else lanes.value


lane_sum.rule("shape")(lambda x, *, axis: x)
lane_sum.rule("jvp")(lambda dxs, y, x, *, axis: lane_sum(dxs[0], axis=axis))
lane_sum.rule("vjp")([lambda ct, y, x, *, axis: ct])
lane_sum.rule("trace")(lambda size, x, *, axis: lane_sum(x, axis=axis))


@opaque(kernel=None, numpy=())
def lane_gather(x, /, *, axis):
    """Values of all lanes of an axis object, stacked along a new axis 0."""


@lane_gather.rule("neutral")
def lane_gather_neutral(x, *, axis):
    return axis.run.collective("all_gather", Stacked(x, True), lambda lanes: _all(lanes, axis))


@lane_gather.rule("batch")
def lane_gather_lanes(run, x, *, axis):
    return run.collective("all_gather", Stacked(x, False), lambda lanes: _all(lanes, axis))


def _all(lanes, axis):
    return axis.across("gather", axis.own(_wide(lanes, axis)))


lane_gather.rule("shape")(lambda x, *, axis: Aval((axis.size, *x.shape), x.dtype))
lane_gather.rule("jvp")(lambda dxs, y, x, *, axis: lane_gather(dxs[0], axis=axis))
lane_gather.rule("vjp")([lambda ct, y, x, *, axis: ct[axis.numbers()]])
lane_gather.rule("trace")(lambda size, x, *, axis: moveaxis(lane_gather(x, axis=axis), 0, 1))


# ---------------------------------------------------------------------- array types
@lane_sum.method
def lane_sum_container(x: Container, /, *, axis):
    """Leaf by leaf where the array is linear in its leaves; the sum of others is no array of their type."""
    if not x.linear or any(dtype_of(leaf).kind not in "fc" for leaf in tree.leaves(x)):
        return NotImplemented
    return tree.map(lambda leaf: lane_sum(leaf, axis=axis), x)


@lane_gather.method
def lane_gather_container(x: Container, /, *, axis):
    """The lanes become a batch axis."""
    return x.stacked(0, axis.size, lambda leaf, place: moveaxis(lane_gather(leaf, axis=axis), 0, place))
