"""Operations along a named axis: what the lanes of a `vmap` or `pmap` do together.

The result of a sum over the lanes is the same in all of them and is kept as such (`Replicated`): a loss that is one
number for all lanes is counted once, so the transpose of `psum` is the identity, not a second sum. Where such a value
is mixed with values of the lanes, its cotangents are summed over them. Values that no lane owns (constants, arguments
with `in_axes=None`) count once per lane: `psum(1.0, "i")` is the number of lanes.

Once lanes have taken different branches (`Axis.varying`), each of them may do something else with the sum. It is then a
value of each lane, and the transpose of `psum` is a second `psum`, which all lanes meet in the same place: where they met
the first one, backwards, whether they use its result or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Container, is_container, tree
from ...dispatch.containers import rebuild
from ..avals import Aval, dtype_of, is_number
from ..axes import Stacked, enclosing, find_axis
from ..card import opaque
from .arithmetic import divide, multiply
from .reduce import max as max_
from .reduce import min as min_
from .reduce import sum
from .shape import broadcast_to, expand_dims, moveaxis

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...dispatch.annotations import X


def _over_names(name, one, x, axis_name):
    """Apply an operation over one axis to every array of a tree, for one axis name after another."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for axis in [find_axis(n, name) for n in names]:
        x = tree.map(lambda array, axis=axis: one(_contribution(array, axis), axis_name=axis), x, is_leaf=is_container)
    return x


def _contribution(x, axis, lanes=False, beside=None):
    """x as the lanes give it to a collective: once they go different ways, all of them in the same kind of value."""
    return axis.run.followed(x, lanes, beside) if axis.varying and not is_container(x) else x


def psum(x: X, axis_name: Hashable) -> X:
    """Sum of x over the lanes of a named axis; the result is the same in every lane.

    For derivatives taken inside the map it is one number of all lanes (a loss made of it counts once) as long as no two
    lanes answer a Python `if` differently; then each lane has its own, and the slopes of all lanes' results are summed.

    x: array or tree of arrays. axis_name: name given to an enclosing `vmap` or `pmap`, or a tuple of names.
    Raises AxisNameError if the name is not bound.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x / pa.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _over_names("psum", lane_sum, x, axis_name)


def psum_over(x, axis):
    """`psum` over an axis object."""
    return lane_sum(x, axis_name=axis)


def pmean(x: X, axis_name: Hashable) -> X:
    """Mean of x over the lanes of a named axis (see `psum`); integers give floating point."""
    return _over_names("pmean", lane_mean, x, axis_name)


def pmax(x: X, axis_name: Hashable) -> X:
    """Largest value over the lanes of a named axis. Lanes that hold it share the derivative equally."""
    return _over_names("pmax", lambda leaf, axis_name: max_(lane_gather(leaf, axis_name=axis_name), axis=0), x, axis_name)


def pmin(x: X, axis_name: Hashable) -> X:
    """Smallest value over the lanes of a named axis. Lanes that hold it share the derivative equally."""
    return _over_names("pmin", lambda leaf, axis_name: min_(lane_gather(leaf, axis_name=axis_name), axis=0), x, axis_name)


def all_gather(x: Any, axis_name: Hashable) -> Any:
    """The values of all lanes, stacked along a new axis 0 in the lanes' order; the same in every lane."""
    return _over_names("all_gather", lane_gather, x, axis_name)


def axis_index(axis_name: Hashable) -> Any:
    """The number of this lane along a named axis, an integer."""
    axis = find_axis(axis_name, "axis_index")
    return axis.numbers()


def axis_size(axis_name: Hashable) -> int:
    """The number of lanes of a named axis, a Python integer."""
    return find_axis(axis_name, "axis_size").size


# ---------------------------------------------------------------------- the cards: axis_name is an `Axis` (in a program,
# an `AxisName`). Rule neutral: for a value that lies below the axis' depth (no lane owns it), which is a collective like
# any other: in other lanes the same call may get a value of the lane; rule batch: over the lanes themselves; rule trace:
# for the lanes of a map inside the axis. Of lanes that go different ways, a reverse pass visits them in all or in none
def _card(spelled, **facts):
    return opaque(kernel=None, numpy=(), collective=lambda params: params["axis_name"].varying, spelled=spelled, **facts)


def _over_lanes(op, name, perform, finish=lambda y, axis: y):
    """Rules neutral, batch and jvp: the collective `name`, which is `perform(lanes, axis)` of the `Stacked` values here."""

    def collective(lanes, axis):
        run = enclosing(axis, op.card.public).run
        return finish(run.collective(name, lanes, lambda lanes: perform(lanes, axis)), axis)

    op.rule("neutral")(lambda x, *, axis_name: collective(Stacked(x, True), axis_name))
    op.rule("batch")(lambda run, x, *, axis_name: collective(Stacked(x, False), axis_name))
    op.rule("jvp")(lambda dxs, y, x, *, axis_name: op(_contribution(dxs[0], axis_name, True, x), axis_name=axis_name))


@_card("psum")
def lane_sum(x, /, *, axis_name):
    """Sum over the lanes of an axis object."""


def _total(lanes, axis):
    if not lanes.same:
        return axis.across("sum", sum(axis.own(lanes.value), axis=0))
    count = len(axis.own(range(axis.local)))
    if is_number(lanes.value):
        return axis.across("sum", lanes.value * count)
    one = sum(expand_dims(lanes.value, 0), axis=0)  # in the dtype of a sum: int8 gives int64
    return axis.across("sum", multiply(one, count))


def _back(ct, axis):
    """The cotangent of a result of all lanes, of which each lane knows its own part where they go different ways."""
    return lane_sum(_contribution(ct, axis, True), axis_name=axis) if axis.varying else ct


_over_lanes(lane_sum, "psum", _total)
lane_sum.rule("shape")(lambda x, *, axis_name: Aval(x.shape, np.sum(np.zeros(0, x.dtype)).dtype))
lane_sum.rule("vjp")([lambda ct, y, x, *, axis_name: _back(ct, axis_name)])
lane_sum.rule("trace")(lambda size, x, *, axis_name: lane_sum(x, axis_name=axis_name))
lane_sum.rule("depends")("->")


@_card("pmean")
def lane_mean(x, /, *, axis_name):
    """Mean over the lanes of an axis object."""


_over_lanes(lane_mean, "psum", _total, lambda y, axis: divide(y, axis.size))
lane_mean.rule("shape")(lambda x, *, axis_name: Aval(x.shape, np.mean(np.ones(1, x.dtype)).dtype))
lane_mean.rule("vjp")([lambda ct, y, x, *, axis_name: divide(_back(ct, axis_name), axis_name.size)])
lane_mean.rule("trace")(lambda size, x, *, axis_name: lane_mean(x, axis_name=axis_name))
lane_mean.rule("depends")("->")


@_card("all_gather", per_lane=True)
def lane_gather(x, /, *, axis_name):
    """Values of all lanes of an axis object, stacked along a new axis 0."""


def _over_all_lanes(lanes, axis):
    wide = broadcast_to(lanes.value, shape=(axis.local, *lanes.shape)) if lanes.same else lanes.value
    return axis.across("gather", axis.own(wide))


_over_lanes(lane_gather, "all_gather", _over_all_lanes)
lane_gather.rule("shape")(lambda x, *, axis_name: Aval((axis_name.size, *x.shape), x.dtype))
lane_gather.rule("vjp")([lambda ct, y, x, *, axis_name: _back(ct, axis_name)[axis_name.numbers()]])
lane_gather.rule("trace")(lambda size, x, *, axis_name: moveaxis(lane_gather(x, axis_name=axis_name), 0, 1))


# ---------------------------------------------------------------------- array types
def _leafwise(op, x, axis):
    """Leaf by leaf where the array is linear in its leaves; the sum of others is no array of their type. A leaf that is an
    array type again decides for itself."""
    if not x.linear or any(dtype_of(getattr(x, name)).kind not in "fc" for name in x.leaves):
        return NotImplemented
    return rebuild(type(x), [op(getattr(x, name), axis_name=axis) for name in x.leaves], x._statics())


@lane_sum.method
def lane_sum_container(x: Container, /, *, axis_name):
    """Sum of the leaves."""
    return _leafwise(lane_sum, x, axis_name)


@lane_mean.method
def lane_mean_container(x: Container, /, *, axis_name):
    """Mean of the leaves."""
    return _leafwise(lane_mean, x, axis_name)


@lane_gather.method
def lane_gather_container(x: Container, /, *, axis_name):
    """The lanes become a batch axis, of a leaf that is an array type again too."""

    def give(leaf, place):
        lanes = lane_gather(leaf, axis_name=axis_name)
        return lanes if place == 0 else moveaxis(lanes, 0, place)

    return x.stacked(0, axis_name.size, give)
