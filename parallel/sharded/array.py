"""`Sharded`: an array type whose arrays lie in blocks on the positions of a mesh."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...dispatch import Container, ShapeError, StructureError, array_type, describe, is_container, tree, type_name
from ...dsl import asarray
from ...dsl.avals import dtype_of, shape_of
from ..mesh import mesh_here
from .layout import Layout
from .partition_spec import PartitionSpec
from .steps import moved

BY_ALL = ", which all ranks call together"  # of what communicates though it does not look so


@array_type(leaves=("block",), static=("layout",), linear=True)
class Sharded(Container):
    """An array of which each rank holds a block. Made by `shard`, `local`, and operations on such arrays.

    block: the array that this rank holds. layout: where all blocks lie (see `shape`, `spec`, `mesh`, `chunks`). `shape` and
    `dtype` are those of the whole. Operations move as few bytes as they can; one that has no method for it runs on the whole
    array, on every rank, guarded by `polyad.densify`. `gather(x)`, `np.asarray(x)`, `float(x)` and `bool(x)` are collectives:
    all ranks call them. `repr` and `print` show the own block and the chunks, and communicate nothing.

    >>> import numpy as np, polyad as pa
    >>> x = pa.shard(np.arange(6.0), pa.PartitionSpec("ranks"))
    >>> x.shape, float(pa.sum(x * x))
    ((6,), 55.0)
    >>> pa.gather(x + 1)
    array([1., 2., 3., 4., 5., 6.])
    """

    block: Any
    layout: Any
    settled = None  # of a partial sum that has been added up: the sum

    def __init__(self, block: Any, layout: Layout) -> None:
        if tuple(shape_of(block)) != layout.block_shape:
            raise ShapeError(f"Sharded: {describe(block)} is no block of shape {list(layout.block_shape)}, as its layout says")
        self.block, self.layout = block, layout

    @property
    def shape(self):
        return self.layout.shape

    @property
    def dtype(self):
        return dtype_of(self.block)

    @property
    def spec(self) -> PartitionSpec:
        """The PartitionSpec: which axes of the mesh cut which axes."""
        return self.layout.spec

    @property
    def mesh(self) -> Any:
        """The mesh on which it lies."""
        return self.layout.mesh

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """For each axis the lengths of its chunks on the ranks along it."""
        return self.layout.chunks

    @property
    def start(self) -> tuple[int, ...]:
        """For each axis where the block of this rank begins."""
        return self.layout.start

    def dense(self) -> Any:
        return moved_to(self, Layout(self.mesh, self.shape), f"the whole of a Sharded array{BY_ALL}").block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("np.asarray: a Sharded array cannot become an array without a copy; leave out copy=False")
        return np.asarray(self.dense(), dtype)

    @property
    def in_parts(self) -> bool:
        """True if other ranks have blocks of it."""
        return bool(self.layout.partial) or any([len(lengths) > 1 for lengths in self.layout.chunks])

    def item(self, *place: int) -> Any:
        """One element as a Python number: a collective, as `float` is."""
        return np.asarray(self).item(*place)

    def tolist(self) -> Any:
        """All elements as nested lists: a collective."""
        return np.asarray(self).tolist()

    def __reduce_ex__(self, protocol):
        raise TypeError(
            "a Sharded array is not pickled: it lies on the ranks of this job; take the whole (pa.gather) or its block "
            "(x.block), or write it with pa.save_checkpoint"
        )

    def __copy__(self) -> Sharded:
        return made(self.block, self.layout)

    def __deepcopy__(self, memo: Any) -> Sharded:
        return made(copy.deepcopy(self.block, memo), self.layout)

    def as_cotangent(self) -> Any:
        """Each addend of a partial sum has the cotangent of the sum: as an array that is the cotangent, whole on each rank."""
        return made(self.block, self.layout.reduced(())) if self.layout.partial else self

    def lanes(self, axis: int, take: Any) -> Any:
        x = self if not self.layout.parts[axis] else moved_to(self, self.layout.cut(axis, ()), f"vmap{BY_ALL}")
        return made(take(x.block, axis), x.layout.without(axis))

    def stacked(self, axis: int, size: int, give: Any) -> Any:
        return made(give(self.block, axis), self.layout.stacked(axis, size))

    def __repr__(self):
        place = " × ".join([str(list(lengths)) for part, lengths in zip(self.spec.parts, self.chunks, strict=True) if part])
        cut = f", chunks {place}" if place else ""
        at = f" at {list(self.start)}" if place else ""
        return f"Sharded({self.dtype}{list(self.shape)} on {self.mesh}, {self.spec}{cut}; here{at}: {self.block!r})"


def made(block, layout):
    """A Sharded array without a look at the shape of its block, which may be anything where trees are handled."""
    x = object.__new__(Sharded)
    x.block, x.layout = block, layout
    return x


def moved_to(x, layout, what):
    """The Sharded array x in another layout; a partial sum is added up once."""
    if x.layout == layout:
        return x
    require_mesh(x, layout.mesh, what)
    if x.layout.partial and not layout.partial:
        if x.settled is None:
            reduced = _settled_layout(x.layout, layout)
            x.settled = made(moved(x.block, x.layout, reduced, what), reduced)
        x = x.settled
    return made(moved(x.block, x.layout, layout, what), layout)


def _settled_layout(layout, target):
    """Return where a partial sum lies once it is added up, on the way to `target`: cut along the axes that are cut there."""
    settled = layout.reduced(())
    for name in layout.partial:
        for axis, part in enumerate(target.parts):
            if part == (name,) and not settled.parts[axis]:
                settled = settled.cut(axis, part, target.chunks[axis])
    return settled


# ---------------------------------------------------------------------- what users call
def shard(x: Any, spec: Any = None, mesh: Any = None) -> Any:
    """Cut an array that every rank has into blocks, of which each rank keeps its own.

    x: array or tree of arrays, the same on all ranks (which is not compared); or Sharded ones, which are moved. spec: a
    `PartitionSpec`, or a tree of them whose upper part is that of x; by default axis 0 is cut along the first axis of the mesh
    (nothing of a number).
    mesh: by default that of the enclosing `with`, else one axis "ranks" along all ranks. Axes may have any length; chunks
    differ by at most one and may be empty. Returns Sharded arrays. Raises StructureError for a spec that does not fit.

    >>> import numpy as np, polyad as pa
    >>> mesh = pa.Mesh(("rows", "columns"), (2, 2))
    >>> x = pa.shard(np.ones((4, 6)), pa.PartitionSpec("rows", "columns"), mesh)
    >>> x.shape, x.spec
    ((4, 6), PartitionSpec('rows', 'columns'))
    """
    mesh = mesh_here() if mesh is None else mesh
    leaves, structure = tree.flatten(x, is_container)
    if spec is None:
        first = PartitionSpec(mesh.axis_names[0])
        specs = [first if shape_of(leaf) else PartitionSpec() for leaf in leaves]
    else:
        specs = tree.broadcast_prefix(spec, x, "shard: spec", is_container)
    return tree.unflatten(structure, [_shard(leaf, each, mesh) for leaf, each in zip(leaves, specs, strict=True)])


def _shard(x, spec, mesh):
    if isinstance(x, Sharded):
        require_mesh(x, mesh, "shard")
        return redistribute(x, spec)
    if is_container(x):
        raise StructureError(f"shard: {describe(x)} cannot be cut into blocks; shard the arrays in it")
    x = x if hasattr(x, "shape") else asarray(x)
    layout = Layout(mesh, shape_of(x), spec, where="shard")
    return Sharded(moved(x, Layout(mesh, shape_of(x)), layout, "shard"), layout)


def local(block: Any, spec: Any = None, mesh: Any = None) -> Any:
    """Make a Sharded array of blocks, of which each rank gives its own: data that it has read or computed.

    block: array; along an axis that is cut the ranks may give different lengths, 0 as well. Else they give equal ones. spec,
    mesh: as for `shard`; where the spec has a partial axis, each rank gives an addend. One small message along each axis that
    is cut. Raises ShapeError, on all ranks, where blocks do not fit together.

    >>> import numpy as np, polyad as pa
    >>> mine = np.ones(3)  # of this rank
    >>> x = pa.local(mine)
    >>> x.shape == (3 * pa.world().size,)
    True
    """
    mesh = mesh_here() if mesh is None else mesh
    spec = PartitionSpec(mesh.axis_names[0]) if spec is None else spec
    block = block if hasattr(block, "shape") else asarray(block)
    if is_container(block):
        raise StructureError(f"local: a block is an array, not {describe(block)}")
    shape = [*shape_of(block)]
    first = Layout(mesh, shape, spec, where="local")
    chunks = []
    for axis, part in enumerate(first.parts):
        lengths = first.along(part).allgather(np.array(shape[axis]), label="local").tolist() if part else [shape[axis]]
        chunks.append(lengths)
        shape[axis] = sum(lengths)
    form = f"{dtype_of(block)} {[n for n, part in zip(shape_of(block), first.parts, strict=True) if not part]} {chunks} {spec}"
    everyone = mesh.along(mesh.axis_names) if len(mesh.axis_names) > 1 else mesh.along(mesh.axis_names[0])
    if not everyone.same(form.encode(), label="local", told=form):
        forms = [word.what for word in everyone.distinct(form, most=4, label="local")]
        raise ShapeError(
            f"local: the blocks of the ranks do not fit together (dtype, whole axes, chunks, spec): {'; '.join(forms)}"
        )
    return Sharded(block, Layout(mesh, shape, spec, chunks))


def gather(x: Any) -> Any:
    """Return the whole of Sharded arrays, on every rank: a collective.

    x: Sharded array or tree of such; what is none stays as it is.

    >>> import numpy as np, polyad as pa
    >>> pa.gather(pa.shard(np.arange(3.0)))
    array([0., 1., 2.])
    """
    return tree.map(lambda leaf: leaf.dense() if isinstance(leaf, Sharded) else leaf, x, is_leaf=is_container)


def redistribute(x: Any, spec: Any) -> Any:
    """Return a Sharded array whose blocks lie as another spec says, in chunks of about equal lengths.

    x: Sharded array. spec: `PartitionSpec`. Moves what it must: nothing where x is cut further, all-to-all from one axis to
    another, a gather where it is whole then; the addends of a partial sum are added up, unless the spec has them too. Raises
    StructureError for a spec that does not fit.

    >>> import numpy as np, polyad as pa
    >>> x = pa.shard(np.ones((4, 2)), pa.PartitionSpec("ranks"))
    >>> pa.redistribute(x, pa.PartitionSpec(None, "ranks")).spec
    PartitionSpec(None, 'ranks')
    """
    if not isinstance(x, Sharded):
        raise StructureError(f"redistribute: {describe(x)} is no Sharded array; make one by pa.shard")
    layout = Layout(x.mesh, x.shape, spec, where="redistribute")
    for axis, part in enumerate(layout.parts):
        if part and part == x.layout.parts[axis]:
            layout = layout.cut(axis, part, x.chunks[axis])
    return moved_to(x, layout, "redistribute")


def mesh_of(xs, name):
    """The mesh of the Sharded arrays among arguments. Raises StructureError where there are several."""
    sharded = [x for x in xs if isinstance(x, Sharded)]
    for x in sharded:
        require_mesh(x, sharded[0].mesh, name)
    return sharded[0].mesh


def require_mesh(x, mesh, name):
    """Raise StructureError for an array on another mesh."""
    if x.mesh != mesh:
        raise StructureError(
            f"{name}: {type_name(type(x))} arrays of two meshes meet, {x.mesh} and {mesh}; move one with "
            "pa.shard(pa.gather(x), spec, mesh)"
        )
