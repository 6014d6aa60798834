"""The cards of operations along a named axis, one entry of `_collective` each; `named.py` and `lane_moves.py` have their public
functions.

An entry says what the lanes give (x, with a row for each lane where `rows`), what they get (with such rows where
`gives_rows`), whether that is each lane's own (`own`) or one value of all lanes, what is done with the lanes here, and, of
linear ones, the transpose. Between processes all lanes are gathered unless `parallel/combining.py` has an entry that sends
less.

axis_name is an `Axis` (in a program, an `AxisName`). Rule neutral: for a value that lies below the axis' depth (no lane owns
it), which is a collective like any other: in other lanes the same call may get a value of the lane; rule batch: over the lanes
themselves; rule trace: for the lanes of a map inside the axis. Of lanes that go different ways, a reverse pass visits them in
all or in none.
"""

from typing import Any

import numpy as np

from ...dispatch import Container, is_container
from ...dispatch.containers import rebuild
from ..array_libraries import asarray_like
from ..avals import Aval, dtype_of, is_number, ndim_of, shape_of
from ..axes import Stacked, enclosing
from ..card import opaque
from .arithmetic import divide, multiply
from .compare import equal, where
from .complex import astype
from .create import arange_like, zeros_like
from .cumulative import cumsum
from .indexing import index
from .rearrange import flip
from .reduce import max as max_
from .reduce import min as min_
from .reduce import prod, sum
from .shape import broadcast_to, concatenate, expand_dims, moveaxis, reshape


def contribution(x, axis, lanes=False, beside=None):
    """x as the lanes give it to a collective: once they go different ways, all of them in the same kind of value."""
    return axis.run.followed(x, lanes, beside) if axis.varying and not is_container(x) else x


def _every_lane(lanes, axis):
    """The values of all lanes here that count, along axis 0."""
    wide = broadcast_to(lanes.value, shape=(axis.local, *lanes.shape)) if lanes.same else lanes.value
    return axis.own(wide)


def _total(lanes, axis):
    """The sum over the lanes here."""
    if not lanes.same:
        rows = axis.own(lanes.value)
        alone = shape_of(rows)[0] == 1 and dtype_of(rows).kind in "fc"  # whose sum has their dtype
        return rows[0] if alone else sum(rows, axis=0)
    count = len(axis.own(range(axis.local)))
    if is_number(lanes.value):
        return lanes.value * count
    return multiply(sum(expand_dims(lanes.value, 0), axis=0), count)  # in the dtype of a sum: int8 gives int64


def _collective(
    spelled, prepare=_every_lane, here=lambda value: value, finish=lambda y, axis: y, across=None, rows=False, gives_rows=False,
    own=False, dtype: Any = None, transpose: Any = None,
):  # fmt: skip
    """Declare one. prepare(lanes, axis): what is done with the lanes of this process; here(value, **params): and then, where
    there are no other processes; finish(y, axis): with what all have given; across: its name between processes. dtype: NumPy's
    function whose result has its dtype, None for that of x. transpose(ct, axis, **params): cotangent of x."""

    def perform(lanes, axis, params):
        value = prepare(lanes, axis)
        return finish(axis.across(across or spelled, value, lambda value: here(value, **params), own, **params), axis)

    def declare(prototype):
        facts = {"spelled": spelled, "own_lanes": own, "per_lane": rows or gives_rows}
        op = opaque(kernel=None, numpy=(), collective=lambda params: params["axis_name"].varying, **facts)(prototype)

        def collective(lanes, axis, **params):
            name = f"{spelled}{list(params.values())}" if params else spelled
            run = enclosing(axis, spelled).run
            return run.collective(name, lanes, lambda lanes: perform(lanes, axis, params), own)

        def shape(x, *, axis_name, **params):
            lengths = x.shape[1:] if rows else x.shape
            kind = x.dtype if dtype is None else dtype(np.ones(1, x.dtype)).dtype
            return Aval((axis_name.size, *lengths) if gives_rows else lengths, kind)

        def trace(size, x, *, axis_name, **params):
            y = op(moveaxis(x, 0, 1) if rows else x, axis_name=axis_name, **params)
            return moveaxis(y, 0, 1) if gives_rows else y

        def jvp(dxs, y, x, *, axis_name, **params):
            return op(contribution(dxs[0], axis_name, True, x), axis_name=axis_name, **params)

        op.rule("shape")(shape)
        op.rule("trace")(trace)
        op.rule("neutral")(lambda x, *, axis_name, **params: collective(Stacked(x, True), axis_name, **params))
        op.rule("batch")(lambda run, x, *, axis_name, **params: collective(Stacked(x, False), axis_name, **params))
        if transpose is not None:
            op.rule("jvp")(jvp)
            op.rule("vjp")(
                [lambda ct, y, x, *, axis_name, **params: _once(transpose(ct, axis_name, **params), x, axis_name, own)]
            )
        return op

    return declare


def _once(ct, x, axis, own=False):
    """The cotangent of a value that was one of all lanes before, of which each of them has given a copy. Where the result is
    each lane's own, whoever asked for it sums."""
    return lane_sum(ct, axis_name=axis) if not own and axis.run.is_replicated(x) else ct


def _of_all(ct, axis):
    """The cotangent of a result of all lanes, of which each lane knows its own part where they go different ways."""
    return lane_sum(contribution(ct, axis, True), axis_name=axis) if axis.varying else ct


# ---------------------------------------------------------------------- one value of all lanes
@_collective("psum", _total, dtype=np.sum, transpose=_of_all)
def lane_sum(x, /, *, axis_name):
    """Sum over the lanes of an axis object."""


@_collective(
    "pmean", _total, across="psum", finish=lambda y, axis: divide(y, axis.size), dtype=np.mean,
    transpose=lambda ct, axis: divide(_of_all(ct, axis), axis.size),
)  # fmt: skip
def lane_mean(x, /, *, axis_name):
    """Mean over the lanes of an axis object."""


for op in (lane_sum, lane_mean):
    op.rule("depends")("->")


@_collective("all_gather", gives_rows=True, transpose=lambda ct, axis: _of_all(ct, axis)[axis.numbers()])
def lane_gather(x, /, *, axis_name):
    """Values of all lanes of an axis object, stacked along a new axis 0."""


def _at_root(ct, axis, root):
    ct = _of_all(ct, axis)
    return where(equal(axis.numbers(), root), ct, zeros_like(ct))


@_collective("broadcast", here=lambda lanes, root: lanes[root], transpose=_at_root)
def lane_pick(x, /, *, axis_name, root):
    """The value of the lane number root."""


@_collective("pmax", here=lambda lanes: max_(lanes, axis=0))
def lane_max(x, /, *, axis_name):
    """Largest value over the lanes of an axis object."""


@_collective("pmin", here=lambda lanes: min_(lanes, axis=0))
def lane_min(x, /, *, axis_name):
    """Smallest value over the lanes of an axis object."""


@_collective("pprod", here=lambda lanes: prod(lanes, axis=0), dtype=np.prod)
def lane_prod(x, /, *, axis_name):
    """Product over the lanes of an axis object."""


def _part_of_holder(x, y, axis, *beside):
    """The part of a lane in the derivative of the largest or smallest value: those that hold it have equal ones."""
    holds = astype(equal(x, y), dtype=dtype_of(y))
    return divide(holds, lane_sum(contribution(holds, axis, True, *beside), axis_name=axis))


def _product_of_others(x, y, axis, *beside):
    """The product over the other lanes."""
    every = lane_gather(contribution(x, axis, True, *beside), axis_name=axis)
    number = reshape(arange_like(every, axis.size), shape=(axis.size, *(1,) * ndim_of(x)))
    return prod(where(equal(number, axis.numbers()), 1, every), axis=0)


for op, weight in ((lane_max, _part_of_holder), (lane_min, _part_of_holder), (lane_prod, _product_of_others)):

    def jvp(dxs, y, x, *, axis_name, weight=weight):
        dx = multiply(dxs[0], weight(x, y, axis_name, x))
        return lane_sum(contribution(dx, axis_name, True, x), axis_name=axis_name)

    def vjp(ct, y, x, *, axis_name, weight=weight):
        return _once(multiply(_of_all(ct, axis_name), weight(x, y, axis_name)), x, axis_name)

    op.rule("jvp")(jvp)
    op.rule("vjp")([vjp])


# ---------------------------------------------------------------------- each lane's own
def _gathered(ct, axis):
    return lane_gather(contribution(ct, axis, True), axis_name=axis)


@_collective("psum_scatter", _total, rows=True, own=True, dtype=np.sum, transpose=_gathered)
def lane_scatter(x, /, *, axis_name):
    """Of the sum over the lanes, the row of each lane's own number."""


def _exchanged(ct, axis) -> Any:
    return lane_exchange(contribution(ct, axis, True), axis_name=axis)


@_collective(
    "all_to_all", here=lambda lanes: moveaxis(lanes, 0, 1), rows=True, gives_rows=True, own=True, transpose=_exchanged
)  # fmt: skip
def lane_exchange(x, /, *, axis_name):
    """Row k is what lane k has in the row of this lane's number."""


def routed(lanes, sources):
    """The rows of `lanes` numbered `sources`, zeros for -1."""
    places = np.asarray(sources, np.intp)
    rows = index(lanes, asarray_like(np.maximum(places, 0), lanes), spec=("array",))
    if (places >= 0).all():
        return rows
    given = asarray_like((places >= 0).reshape(-1, *(1,) * (ndim_of(lanes) - 1)), lanes)
    return where(given, rows, zeros_like(rows))


def way_back(sources):
    """To each lane, from where its value has gone."""
    back = [-1] * len(sources)
    for lane, source in enumerate(sources):
        if source >= 0:
            back[source] = lane
    return tuple(back)


def _sent_back(ct, axis, sources) -> Any:
    return lane_permute(contribution(ct, axis, True), axis_name=axis, sources=way_back(sources))


@_collective("ppermute", here=routed, own=True, transpose=_sent_back)
def lane_permute(x, /, *, axis_name, sources):
    """The value of the lane that `sources` names for each, no lane twice; zeros for -1."""


def before(lanes, exclusive, reverse):
    """Sums of the rows up to each, with it unless exclusive, or from it on if reverse."""
    if reverse:
        return flip(before(flip(lanes, axis=0), exclusive, False), axis=0)
    sums = cumsum(lanes, axis=0)
    return concatenate([zeros_like(sums[:1]), sums[:-1]], axis=0) if exclusive and shape_of(sums)[0] else sums


def _from_the_other_end(ct, axis, exclusive, reverse) -> Any:
    return lane_scan(contribution(ct, axis, True), axis_name=axis, exclusive=exclusive, reverse=not reverse)


@_collective("scan_over_axis", here=before, own=True, dtype=np.sum, transpose=_from_the_other_end)
def lane_scan(x, /, *, axis_name, exclusive, reverse):
    """Sums over the lanes up to each, with it unless exclusive, or from it on if reverse."""


# ---------------------------------------------------------------------- array types
def _leafwise(op, x, **params):
    """Leaf by leaf. A leaf that is an array type again decides for itself."""
    return rebuild(type(x), [op(getattr(x, name), **params) for name in x.leaves], x._statics())


def _is_linear(x):
    return x.linear and all(dtype_of(getattr(x, name)).kind in "fc" for name in x.leaves)


def _sum_of_leaves(op, x, axis):
    """Leaf by leaf where the array is linear in its leaves; the sum of others is no array of their type."""
    return _leafwise(op, x, axis_name=axis) if _is_linear(x) else NotImplemented


@lane_sum.method
def lane_sum_container(x: Container, /, *, axis_name):
    """Sum of the leaves."""
    return _sum_of_leaves(lane_sum, x, axis_name)


@lane_mean.method
def lane_mean_container(x: Container, /, *, axis_name):
    """Mean of the leaves."""
    return _sum_of_leaves(lane_mean, x, axis_name)


@lane_gather.method
def lane_gather_container(x: Container, /, *, axis_name):
    """The lanes become a batch axis, of a leaf that is an array type again too."""

    def give(leaf, place):
        lanes = lane_gather(leaf, axis_name=axis_name)
        return lanes if place == 0 else moveaxis(lanes, 0, place)

    return x.stacked(0, axis_name.size, give)


@lane_pick.method
def lane_pick_container(x: Container, /, *, axis_name, root):
    """The leaves of the lane number root."""
    return _leafwise(lane_pick, x, axis_name=axis_name, root=root)


@lane_permute.method
def lane_permute_container(x: Container, /, *, axis_name, sources):
    """The leaves of the lane that sources names; where it names none, those of a type that is linear in them are 0."""
    if min(sources, default=0) < 0 and not _is_linear(x):
        return NotImplemented
    return _leafwise(lane_permute, x, axis_name=axis_name, sources=sources)
