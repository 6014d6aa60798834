"""`vmap`: a function of one example becomes a function of many, Python control flow included.

Where lanes disagree on an answer that Python needs, the batch is split into the lanes that answered alike, the function
runs again on each part, and the results are merged in order. Collectives keep a log: a part that reaches one stops with
its contribution; when every part stands at the same one it runs once over all lanes and the parts go on from the log.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import (
    DTypeError,
    LaneSplitError,
    Layer,
    LeakedLayerError,
    PerformanceWarning,
    ShapeError,
    batch_axis,
    current_depth,
    describe,
    is_container,
    isa,
    settled,
    snapshot,
    tree,
)
from ...dispatch.containers import densified
from ..array_libraries import asarray_like
from ..avals import dtype_of, is_number, ndim_of, normalize_axis, shape_of
from ..axes import Axis, Stacked
from ..ops.indexing import index
from ..ops.shape import broadcast_to, concatenate, moveaxis
from ..ops.sorting import argsort
from .batch_axes import batch_axes, containers_in, lanes_given, lanes_taken, of_one_lane
from .batching import Batched, LanesRun, Need, Replicated, Split, fits, lane_numbers, show
from .unkeyed_draws import looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ...dispatch.annotations import P


MANY_PARTS = 64  # split parts above which a warning names the alternatives


def vmap(
    f: Callable[P, Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments; its meaning is `stack([f(x[k]) for k in range(n)])`.

    f: function of arrays or trees of arrays. in_axes: the axis to map for each argument, None for an argument that is the
    same in all lanes; an int for all, or a tree whose upper part is that of the arguments. out_axes: where the lanes stand
    in the results; None for a result that is the same in all lanes. axis_size: number of lanes, needed only if no argument
    is mapped. axis_name: name by which `psum` and its kin find the lanes. Keyword arguments are mapped over axis 0.
    Returns a function. `if`, `while` and recursion on values of the lanes work: the lanes are split by their answers.
    Raises ShapeError, StructureError, LaneSplitError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x * x if x > 1 else -x)(np.array([0.5, 2.0, 3.0]))
    array([-0.5,  4. ,  9. ])
    """

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        name = title("vmap", f)
        inputs = MappedInputs(name, args, kwargs, in_axes, axis_size)
        axis = Axis(axis_name, inputs.size, current_depth() + 1)
        return map_lanes(name, f, inputs, axis).assemble(out_axes)

    return mapped


def title(transform, f):
    """A mapped function in messages, the same in every process: no addresses."""
    return f"{transform}({getattr(f, '__name__', type(f).__name__)})"


class MappedInputs:
    """The arguments of a mapped function with the lanes moved to axis 0 of every mapped leaf."""

    def __init__(self, name, args, kwargs, in_axes, axis_size):
        self.name, self.size = name, axis_size
        whole = isa(axis_size, (int, np.integer)) and not isa(axis_size, (bool, np.bool_))
        if axis_size is not None and not (whole and axis_size >= 0):
            raise ShapeError(f"{name}: axis_size is a number of lanes, a whole number from 0, not {axis_size!r}")
        self.given = args, kwargs
        if any([isinstance(leaf, Layer) and leaf.lasting for leaf in tree.leaves((args, kwargs))]):
            args, kwargs = tree.map(settled, (args, kwargs))
        units, self.structure = tree.flatten((args, kwargs), is_container)
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
            raise ShapeError(f"{name}: in_axes {in_axes!r} has {len(in_axes)} entries for {len(args)} arguments")
        where = (tuple(in_axes) if isinstance(in_axes, list) else in_axes, 0)
        axes = self.axes = tree.broadcast_prefix(where, (args, kwargs), f"{name}: in_axes", is_container)
        self.units, self.mapped = [], []
        paths = None
        for leaf in tree.leaves(units):
            if isinstance(leaf, Layer) and leaf.run.closed:
                raise leaf.run.leaked()
        for i, (x, axis) in enumerate(zip(units, axes, strict=True)):
            if axis is None:
                self.units.append(x)
                self.mapped.append(False)
                continue
            if paths is None:
                paths = _paths(args, kwargs)
            self.units.append(self._lanes_first(x, axis, paths[i]))
            self.mapped.append(True)
        if self.size is None:
            raise ShapeError(f"{name}: no argument is mapped; give axis_size or an in_axes that is not None")

    def _lanes_first(self, x, axis, path):
        where = f"{self.name}: argument {path}"
        if not ndim_of(x):
            raise ShapeError(f"{where} has no axis {axis} to map; use in_axes=None for it (it is {describe(x)})")
        if dtype_of(x).kind not in "biufc" and not is_container(x):
            raise DTypeError(f"{where} is {describe(x)}, which holds no numbers; convert it, or use in_axes=None for it")
        if is_container(x):
            place = batch_axis(x, axis, where)
            if place is None:
                return self._lanes_first(densified(x, f"{where}: mapping axis {axis}"), axis, path)
            self._check(shape_of(x)[place], where)
            return MappedContainer(f"{where}: mapping axis {axis}", x, place)
        axis = normalize_axis(where, axis, ndim_of(x))
        self._check(shape_of(x)[axis], where)
        return x if axis == 0 else moveaxis(x, axis, 0)

    def _check(self, length, where):
        if self.size is None:
            self.size, self.first = length, where
        elif self.size != length:
            first = getattr(self, "first", "axis_size")
            raise ShapeError(f"{where} has {length} lanes, but {first} has {self.size}; mapped axes must agree")

    def for_lanes(self, run):
        """The arguments as the lanes of one pass see them."""

        def lane(leaf):
            return run.batched(leaf if run.lanes is None else _pick(leaf, run.lanes))

        seen = [
            x if not m else x.lanes(lane) if type(x) is MappedContainer else lane(x)
            for x, m in zip(self.units, self.mapped, strict=True)
        ]
        return tree.unflatten(self.structure, seen)


class MappedContainer:
    """A container that is mapped along a batch axis. here: its leaves with the lanes of this process along axis 0, where
    they are not those of the container itself."""

    def __init__(self, name, whole, axis):
        self.name, self.whole, self.axis, self.here = name, whole, axis, None

    def split(self, part):
        """Keep `part(leaf)`, which has the lanes of this process, of each leaf, lanes first."""
        here = []
        self.lanes(lambda leaf: here.append(part(leaf)) or here[-1])
        self.here = here

    def lanes(self, lane):
        """The container with `lane(leaf)` of each leaf, lanes first."""
        here = None if self.here is None else iter(self.here)

        def take(leaf, axis):
            if here is not None:
                return lane(next(here))
            return lane(leaf if axis == 0 else moveaxis(leaf, axis, 0))

        return lanes_taken(self.whole, self.axis, take, self.name)


def _paths(args, kwargs):
    named = [*enumerate(args), *[(repr(k), x) for k, x in sorted(kwargs.items())]]
    return [f"{name}{p}" for name, x in named for p in _unit_paths(x)]


def _unit_paths(x):
    cut = tree.map(lambda leaf: 0, x, is_leaf=is_container)
    return tree.paths(cut)


def _pick(x, lanes):
    lanes = lanes if isinstance(lanes, Layer) else asarray_like(np.asarray(lanes, np.intp), x)
    return index(x, lanes, spec=("array",))


def _among(lanes, group):
    """The numbers of the lanes at some places among these; None: among all. Under jit they are an array that is not known."""
    if isinstance(group, Layer) or isinstance(lanes, Layer):
        return group if lanes is None else _pick(lanes if isinstance(lanes, Layer) else asarray_like(lanes, group), group)
    return list(group) if lanes is None else [lanes[i] for i in group]


# ---------------------------------------------------------------------- running
def map_lanes(name, f, inputs, axis):
    """Run f over all lanes of `inputs`, splitting them where Python asks, and return the `Outputs`."""
    log, parts, f = [], [None], looked_at(name, f, axis)
    while True:
        done, waiting = _run_parts(name, f, inputs, axis, log, parts)
        if not waiting:
            return Outputs(name, axis, done, inputs)
        _check_all_wait(name, axis, done, waiting)
        parts = [lanes for lanes, _ in waiting]
        need = waiting[0][1]
        log.append((need.signature, need.perform(merge_parts(name, parts, [n.value for _, n in waiting]))))


def _run_parts(name, f, inputs, axis, log, parts):
    """Run each part from the start; parts that disagree inside are split. Returns the finished and the waiting."""
    done, waiting, warned = [], [], False
    todo = list(parts)
    while todo:
        lanes = todo.pop(0)
        run = LanesRun(name, axis, lanes, log)
        try:
            with axis, run:
                args, kwargs = inputs.for_lanes(run)
                out = f(*args, **kwargs)
                done.append((lanes, *flatten_outputs(name, out, run)))
        except (Split, Need) as signal:
            if signal.run is not run:
                axis.leave(signal)
                raise
            if isinstance(signal, Need):
                waiting.append((lanes, signal.with_traceback(None)))  # its frames hold all values of the pass
                continue
            if not axis.varying:
                axis.diverge(log)
            todo[:0] = [_among(lanes, group) for group in signal.groups]
            if len(todo) + len(done) > MANY_PARTS and not warned:
                warned = True
                warnings.warn(
                    f"{name}: the lanes take more than {MANY_PARTS} different paths, each run by itself; where, "
                    "while_loop or fewer lanes are faster",
                    PerformanceWarning,
                    stacklevel=4,
                )
    return done, waiting


def _check_all_wait(name, axis, done, waiting):
    """All parts stand at the same collective, or an error says which lanes do not."""
    first = waiting[0][1].signature
    if done:
        there = sorted(axis.offset + lane for lanes, _ in waiting for lane in lane_numbers(lanes))
        raise LaneSplitError(
            f"{name}: {show(first)} over the axis {axis!r} is in a branch that only lanes {_some(there)} take; call it "
            "before the branch, or in every branch"
        )
    for _, need in waiting:
        if not fits(need.signature, first):
            raise LaneSplitError(
                f"{name}: lanes that took different paths meet different collectives: {show(first)} and "
                f"{show(need.signature)}"
            )


def _some(lanes):
    return str(lanes) if len(lanes) <= 8 else f"[{', '.join(map(str, lanes[:8]))}, … {len(lanes)} in all]"


# ---------------------------------------------------------------------- results
def flatten_outputs(name, out, run):
    """The output tree of one pass: (units, structure), each leaf taken out of the layer."""

    def leave(leaf):
        leaf = settled(leaf)
        cls = type(leaf)
        if cls in (Batched[run.depth], Replicated[run.depth]):
            if leaf.run is not run:
                raise run.foreign(leaf.run)
            return Stacked(snapshot(leaf.value), cls is Replicated[run.depth])
        if isinstance(leaf, Layer) and leaf.run.closed:
            raise leaf.run.leaked()
        return Stacked(leaf, True)

    units, structure = tree.flatten(out, is_container)
    for unit in units:
        for container in containers_in(unit):
            _check_static(name, container, run)
    return [tree.map(leave, unit) if is_container(unit) else leave(unit) for unit in units], structure


def _check_static(name, x, run):
    """Check that the static parts of a container, which leave the map as they are, hold no value of the map."""
    for attribute in x.static:
        for value in tree.leaves(getattr(x, attribute)):
            if isinstance(value, Layer) and (value.run.closed or value.depth >= run.depth):
                raise LeakedLayerError(
                    f"{name}: the static attribute {attribute!r} of the {type(x).__name__} returned is a "
                    f"{type(value).__name__}, which has no meaning after the map; declare it among the leaves of the type"
                )


def owner(x):
    """The array whose memory x looks at."""
    while isa(x, np.ndarray) and isa(x.base, np.ndarray):
        x = x.base
    return x


def apart(results, others):
    """Arrays whose memory is theirs alone, so that writing to one changes neither another nor one of the others."""
    taken = {id(owner(x)) for x in others if isa(x, np.ndarray)}

    def alone(x):
        if type(x) is not np.ndarray:
            return snapshot(x)
        if id(owner(x)) in taken or not x.flags.writeable:
            x = x.copy()
        taken.add(id(owner(x)))
        return x

    return [tree.map(alone, x) if is_container(x) else alone(x) for x in results]


class Outputs:
    """The results of all parts of the lanes, to be put together."""

    def __init__(self, name, axis, parts, inputs):
        self.name, self.axis, self.parts, self.inputs = name, axis, parts, inputs

    def leaves(self):
        """Structure, and per unit a `Stacked` over the lanes of this process (or a container of them)."""
        (_, units, structure), *others = self.parts
        if not others:
            return structure, units
        whole = [tree.structure(tree.unflatten(shape, its)) for _, its, shape in self.parts]
        for other in whole:
            if other != whole[0]:
                raise LaneSplitError(
                    f"{self.name}: lanes return different structures: {tree.show(whole[0])} and {tree.show(other)}; every path "
                    "must return the same types, with the same static parts"
                )
        lanes = [part for part, _, _ in self.parts]
        merge = lambda *column: merge_parts(self.name, lanes, column)
        columns = zip(*[units for _, units, _ in self.parts], strict=True)
        return structure, [tree.map(merge, *c) if any(map(is_container, c)) else merge(*c) for c in columns]

    def assemble(self, out_axes):
        """The result tree, with the lanes where `out_axes` says."""
        structure, units = self.axis.join(self)
        model = tree.unflatten(structure, list(range(len(units))))
        axes = tree.broadcast_prefix(out_axes, model, f"{self.name}: out_axes")
        placed = [self._place(u, a) for u, a in zip(units, axes, strict=True)]
        constants = [leaf.value for unit in units for leaf in tree.leaves(unit) if leaf.same]
        return tree.unflatten(structure, apart(placed, [*tree.leaves(self.inputs.given), *constants]))

    def _place(self, unit, out_axis):
        if is_container(unit):
            return self._place_container(unit, out_axis)
        value = unit.value
        if out_axis is None:
            if not unit.same:
                raise ShapeError(
                    f"{self.name}: out_axes is None for a result that differs between lanes; use an axis, or reduce it "
                    "with psum or pmean over the axis name"
                )
            return value
        if not getattr(value, "mapped", True):
            return value
        if unit.same:
            value = broadcast_to(value, shape=(self.axis.size, *shape_of(value)))
        axis = normalize_axis(f"{self.name}: out_axes", out_axis, ndim_of(value))
        return value if axis == 0 else moveaxis(value, 0, axis)

    def _place_container(self, unit, out_axis):
        size = self.axis.size

        def give(leaf, axis):
            wide = leaf.value
            if leaf.same:
                wide = broadcast_to(wide, shape=(size, *shape_of(wide)))
            return wide if axis == 0 else moveaxis(wide, 0, axis)

        if out_axis is None:
            return tree.map(lambda leaf: leaf.value, unit)
        if out_axis:
            ndim, batch = of_one_lane(unit).ndim + 1, batch_axes(unit) + 1
            if not -ndim <= out_axis < ndim or out_axis % ndim >= batch:
                raise ShapeError(
                    f"{self.name}: out_axes {out_axis} is spanned by the structure of {type(unit).__name__}; use one of "
                    f"its {batch} batch axes or return x.dense()"
                )
            out_axis %= ndim
        return lanes_given(unit, out_axis, size, give, f"{self.name}: out_axes {out_axis}")


def merge_parts(name, parts, column):
    """Put what parts of the lanes give for one value back in the order of the lanes: one `Stacked`.

    parts: the numbers of the lanes of each. column: a `Stacked` from each.
    """
    if len(parts) == 1 or not any(getattr(s.value, "mapped", True) for s in column):
        return column[0]
    values = _alike(name, column)
    wide = [
        broadcast_to(v, shape=(len(part), *shape_of(v))) if s.same else v
        for v, s, part in zip(values, column, parts, strict=True)
    ]
    if any([isinstance(part, Layer) for part in parts]):
        order = argsort(concatenate([p if isinstance(p, Layer) else np.asarray(p, np.intp) for p in parts]))
    else:
        order = np.argsort(np.concatenate([np.asarray(p) for p in parts]))
    return Stacked(_pick(concatenate(wide, axis=0), order), False)


def _alike(name, column):
    """The values of one output leaf in all parts, of one lane shape and dtype; Python numbers follow the others."""
    values = with_one_dtype([s.value for s in column], {dtype_of(s.value) for s in column if not is_number(s.value)})
    found = {(s.shape, str(dtype_of(v))) for v, s in zip(values, column, strict=True)}
    if len(found) != 1:
        kinds = " and ".join(sorted(f"{d}{list(s)}" for s, d in found))
        raise LaneSplitError(
            f"{name}: lanes return {kinds} for the same result; every path must give one shape and dtype"
        )
    return values


def with_one_dtype(values, dtypes):
    """Python numbers among the values as arrays of the others' dtype, where it is one and can hold them (NEP 50)."""
    if len(dtypes) != 1:
        return values
    (dtype,) = dtypes
    weak = lambda v: is_number(v) and np.can_cast(np.min_scalar_type(v), dtype, "same_kind")
    example = next((v for v in values if not is_number(v)), None)
    return [asarray_like(v, example, dtype) if weak(v) else v for v in values]
