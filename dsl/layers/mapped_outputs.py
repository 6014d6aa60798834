"""The results of a mapped function: taken out of the map, put together from the parts of the lanes, and placed along axes."""

import numpy as np

from ...dispatch import (
    LaneSplitError,
    Layer,
    LeakedLayerError,
    ShapeError,
    is_container,
    isa,
    settled,
    snapshot,
    tree,
)
from ..array_libraries import asarray_like, bottom
from ..avals import dtype_of, is_number, ndim_of, normalize_axis, shape_of
from ..axes import Stacked
from ..ops.compare import equal, logical_and, logical_or, not_equal
from ..ops.shape import broadcast_to, concatenate, moveaxis
from ..ops.sorting import argsort
from .batch_axes import batch_axes, containers_in, lanes_given, of_one_lane
from .batching import Batched, Replicated
from .mapped_inputs import pick


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


def unaliased(results, others):
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

    def assemble(self, out_axes, told="out_axes"):
        """The result tree, with the lanes where `out_axes` says. told: what the user calls these."""
        structure, units = self.axis.join(self)
        model = tree.unflatten(structure, list(range(len(units))))
        axes = tree.broadcast_prefix(out_axes, model, f"{self.name}: {told}")
        placed = [self._place(u, a) for u, a in zip(units, axes, strict=True)]
        constants = [leaf.value for unit in units for leaf in tree.leaves(unit) if leaf.same]
        return tree.unflatten(structure, unaliased(placed, [*tree.leaves(self.inputs.given), *constants]))

    def _of_axis(self):
        return "" if self.axis.name is None else f" of the axis {self.axis!r} (or a spec that does not name it)"

    def _place(self, unit, out_axis):
        if is_container(unit):
            return self._place_container(unit, out_axis)
        value = unit.value
        if out_axis is None:
            if not unit.same and self.axis.varying and _agree(value):
                return value[0]  # what a collective gave lanes that went different ways
            if not unit.same:
                raise ShapeError(
                    f"{self.name}: out_axes is None for a result that differs between lanes{self._of_axis()}; use an axis, or "
                    "reduce it with psum or pmean over the axis name"
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


def _agree(lanes):
    """Return whether the lanes of a value are known to be equal, in all lanes of maps around."""
    if not shape_of(lanes)[0]:
        return False
    first = lanes[:1]
    both_nan = logical_and(not_equal(lanes, lanes), not_equal(first, first))
    alike = bottom(logical_or(equal(lanes, first), both_nan))
    return isa(alike, (np.ndarray, np.generic)) and bool(np.all(alike))


def merge_parts(name, parts, column):
    """Put what parts of the lanes give for one value back in the order of the lanes: one `Stacked`.

    parts: the numbers of the lanes of each. column: a `Stacked` from each.
    """
    if len(parts) == 1 or not any(getattr(s.value, "mapped", True) for s in column):
        return column[0]
    values = _one_aval(name, column)
    wide = [
        broadcast_to(v, shape=(len(part), *shape_of(v))) if s.same else v
        for v, s, part in zip(values, column, parts, strict=True)
    ]
    if any([isinstance(part, Layer) for part in parts]):
        order = argsort(concatenate([p if isinstance(p, Layer) else np.asarray(p, np.intp) for p in parts]))
    else:
        order = np.argsort(np.concatenate([np.asarray(p) for p in parts]))
    return Stacked(pick(concatenate(wide, axis=0), order), False)


def _one_aval(name, column):
    """The values of one output leaf in all parts, of one lane shape and dtype; Python numbers follow the others."""
    values = with_one_dtype([s.value for s in column], {dtype_of(s.value) for s in column if not is_number(s.value)})
    found = {(s.shape, str(dtype_of(v))) for v, s in zip(values, column, strict=True)}
    if len(found) != 1:
        kinds = " and ".join(sorted(f"{d}{list(s)}" for s, d in found))
        raise LaneSplitError(f"{name}: lanes return {kinds} for the same result; every path must give one shape and dtype")
    return values


def with_one_dtype(values, dtypes):
    """Python numbers among the values as arrays of the others' dtype, where it is one and can hold them (NEP 50)."""
    if len(dtypes) != 1:
        return values
    (dtype,) = dtypes
    weak = lambda v: is_number(v) and np.can_cast(np.min_scalar_type(v), dtype, "same_kind")
    example = next((v for v in values if not is_number(v)), None)
    return [asarray_like(v, example, dtype) if weak(v) else v for v in values]
