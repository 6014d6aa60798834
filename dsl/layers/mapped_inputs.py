"""The arguments of a mapped function: their lanes moved to axis 0, and what the lanes of one pass see of them."""

import numpy as np

from ...dispatch import (
    DensifyError,
    DTypeError,
    Layer,
    ShapeError,
    batch_axis,
    describe,
    is_container,
    isa,
    settled,
    tree,
    type_name,
)
from ...dispatch.containers import densified
from ..array_libraries import asarray_like
from ..avals import dtype_of, ndim_of, normalize_axis, shape_of
from ..ops.indexing import index
from ..ops.shape import moveaxis
from .batch_axes import lanes_taken


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
                paths = argument_paths(args, kwargs)
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
                if not x.densifies and x.ndim == x.structure_ndim:
                    raise DensifyError(
                        f"{where}: {type_name(type(x))} of shape {list(x.shape)} has no axis of lanes to map, only the "
                        f"{x.structure_ndim} of its structure, and no dense form whose rows were meant; where its leaves hold "
                        "lanes, `shape` has to begin with their axes: (*leaf.shape, rows, columns) of a matrix"
                    )
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
            return run.batched(leaf if run.lanes is None else pick(leaf, run.lanes))

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


def argument_paths(args, kwargs):
    """The place of each array or container among the arguments, in their order, such as "0['w']"."""
    named = [*enumerate(args), *[(repr(k), x) for k, x in sorted(kwargs.items())]]
    return [f"{name}{p}" for name, x in named for p in _unit_paths(x)]


def _unit_paths(x):
    cut = tree.map(lambda leaf: 0, x, is_leaf=is_container)
    return tree.paths(cut)


def pick(x, lanes):
    lanes = lanes if isinstance(lanes, Layer) else asarray_like(np.asarray(lanes, np.intp), x)
    return index(x, lanes, spec=("array",))
