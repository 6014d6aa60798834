"""Meshes: the devices of all ranks as a grid with named axes, along which maps spread their lanes.

Positions are numbered like the elements of an array of the mesh's shape, devices of a rank beside each other and ranks in the
order of their nodes, so that the last axis lies within a process, or within a node, where it fits. The ranks are a grid
themselves: along each axis all of them have equally many neighbours.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..dispatch import Immutable, StructureError
from ..dsl.axes import enclosing_axes
from .communicator import world

_current: ContextVar[tuple[Mesh, ...]] = ContextVar("polyad_mesh", default=())


class Mesh(Immutable):
    """A grid of devices with named axes.

    axis_names: names of the axes, or one name. shape: their lengths, or one. There are as many positions as their product,
    equally many on each rank; on one process all of them are simulated there, so that a script can be tried without MPI. All
    ranks make a mesh together. `mesh.shape` maps names to lengths, `mesh.size` is the number of positions, `mesh.local_size`
    that of each rank, `mesh.ranks` the shape of the grid of ranks, `mesh.coordinates` the place of this rank in it.
    `with mesh:` has maps (`pmap`, `shard_map`) spread their lanes along it: a map along the axis that has its axis_name, else
    along the first one that no enclosing map has taken; where none is left each rank runs all lanes. Raises StructureError if
    the ranks do not fit.

    >>> import numpy as np, polyad as pa
    >>> mesh = pa.Mesh(("rows", "columns"), (2, 2))
    >>> mesh
    Mesh(rows=2, columns=2)
    >>> with mesh:
    ...     sums = pa.pmap(lambda x: pa.psum(x, "rows"), axis_name="rows")(np.arange(4.0))
    >>> sums
    array([6., 6., 6., 6.])
    """

    def __init__(self, axis_names: Any, shape: Any) -> None:
        names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        lengths = tuple([operator.index(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,))])
        if not names or len(names) != len(lengths) or len(set(names)) != len(names) or min(lengths) < 1:
            raise StructureError(
                f"Mesh: names {names!r} for the shape {lengths}; give each axis a name of its own and a length of at least 1"
            )
        self.axis_names, self.shape, self.size = names, dict(zip(names, lengths, strict=True)), math.prod(lengths)
        everyone = world()
        grid = grid_of_ranks(lengths, everyone.size)
        if grid is None:
            raise StructureError(
                f"Mesh: {everyone.size} ranks do not fit the shape {lengths}: each axis has to be cut into equal parts, whose "
                "numbers multiply to that of the ranks; start another number of ranks, or choose other lengths"
            )
        self.ranks, self.local_size = grid, self.size // everyone.size
        order = everyone.ranks_by_node()
        self.coordinates = here = tuple(map(int, np.unravel_index(order.index(everyone.rank), grid)))
        self._along = {}
        for k, name in enumerate(names):
            if grid[k] == everyone.size and order == sorted(order):
                self._along[name] = everyone
                continue
            others = np.ravel_multi_index([0 if i == k else c for i, c in enumerate(here)], grid)
            self._along[name] = everyone.split(others, here[k], name=f"the axis {name!r} of a mesh")

    def along(self, name: Any) -> Any:
        """The Communicator of the ranks that differ from this one along an axis alone, in the axis' order.

        name: of an axis, or a tuple of names: then along all of these, the last the fastest; all ranks ask for it together.
        """
        names = name if isinstance(name, tuple) and name not in self._along else (name,)
        if len(names) == 1:
            return self._along[names[0]]  # type: ignore[misc]
        if names not in self._along:
            places = [self.axis_names.index(each) for each in names]
            others = np.ravel_multi_index([0 if k in places else c for k, c in enumerate(self.coordinates)], self.ranks)
            here = np.ravel_multi_index([self.coordinates[k] for k in places], [self.ranks[k] for k in places])
            self._along[names] = world().split(others, here, name=f"the axes {', '.join(map(repr, names))} of a mesh")
        return self._along[names]

    def __enter__(self) -> Mesh:
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _current.set(_current.get()[:-1])

    def __eq__(self, other: object) -> bool:
        return type(other) is Mesh and [*other.shape.items()] == [*self.shape.items()]

    def __hash__(self) -> int:
        return hash(tuple(self.shape.items()))

    def __repr__(self) -> str:
        return f"Mesh({', '.join([f'{name}={n}' for name, n in self.shape.items()])})"


def make_mesh(shape: Any, axis_names: Any) -> Mesh:
    """The Mesh of this shape with these names, in the order of arguments of JAX.

    shape: lengths of the axes. axis_names: their names. Raises StructureError, as `Mesh` does.

    >>> import polyad as pa
    >>> pa.make_mesh((4, 2), ("data", "model"))
    Mesh(data=4, model=2)
    """
    return Mesh(axis_names, shape)


def current_mesh():
    """The innermost mesh whose `with` encloses this point, or None."""
    return _current.get()[-1] if _current.get() else None


def mesh_here():
    """The innermost mesh whose `with` encloses this point, else one axis "ranks" along all ranks."""
    return current_mesh() or _all_ranks(world())


@functools.cache
def _all_ranks(everyone):
    return Mesh("ranks", everyone.size)


def ranks_for(axis_name):
    """(the ranks over which a map here spreads its lanes, what it takes), or (None, None) where each runs all lanes."""
    mesh = current_mesh()
    taken = [axis.takes for axis in enclosing_axes() if axis.takes is not None]
    if mesh is None:
        return (None, None) if taken else (world(), "world")
    if "world" in taken:
        return None, None
    free = [name for name in mesh.axis_names if (mesh, name) not in taken]
    if not free or any([which != mesh for which, _ in taken]):
        return None, None
    name = axis_name if axis_name in free else free[0]
    return mesh.along(name), (mesh, name)


def mesh_and_axis(takes):
    """The mesh, and its axis, of what a map takes of the ranks."""
    return (_all_ranks(world()), "ranks") if takes == "world" else takes


def grid_of_ranks(lengths, count):
    """Return how many ranks lie along each axis, `count` in all, most of them along the first axes; None if there is no way."""
    for grid in itertools.product(*[[d for d in range(n, 0, -1) if n % d == 0] for n in lengths]):
        if math.prod(grid) == count:
            return grid
    return None
