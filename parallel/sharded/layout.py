"""`Layout`: where the elements of a sharded array lie: which axes of the mesh cut which of its axes, and into which chunks."""

from ...dispatch import Immutable, ShapeError, StructureError
from .chunks import Chunks, balanced, one_each, starts
from .partition_spec import PartitionSpec, require_names

WHOLE = PartitionSpec()


class Layout(Immutable):
    """The global shape of an array, its mesh, its spec with a part for each axis, and the lengths of the chunks of each axis.

    spec: `PartitionSpec`. chunks: for each axis the lengths of its chunks, as many as there are ranks along its part of the
    mesh; by default as equal as can be. The devices of one rank share its block, so that there are as many chunks as ranks.
    Immutable and hashable: equal layouts of equal meshes are one. Raises StructureError for a spec that does not fit the mesh
    or the number of axes, ShapeError for chunks that do not add up.
    """

    __slots__ = ("mesh", "shape", "spec", "chunks", "_hash")

    def __init__(self, mesh, shape, spec=WHOLE, chunks=None, where="Sharded"):
        self.mesh, self.shape = mesh, tuple(shape)
        _check_spec_fits(mesh, self.shape, spec, where)
        self.spec = spec = PartitionSpec(*spec.parts, *[()] * (len(self.shape) - len(spec.parts)), partial=spec.partial)
        counts = [self.along(part).size if part else 1 for part in spec.parts]
        if chunks is None:
            chunks = map(balanced, self.shape, counts)
        self.chunks = tuple([tuple(map(int, lengths)) for lengths in chunks])
        if [*map(sum, self.chunks)] != [*self.shape] or [*map(len, self.chunks)] != counts:
            raise ShapeError(
                f"{where}: chunks {self.chunks} do not make up the shape {self.shape} on {counts} ranks along its axes"
            )
        self._hash = hash((mesh, self.shape, spec, self.chunks))

    def along(self, part):
        """The Communicator of the ranks along a part of the mesh."""
        return self.mesh.along(part if len(part) > 1 else part[0])

    @property
    def parts(self):
        """For each axis the names of the axes of the mesh that cut it."""
        return self.spec.parts

    @property
    def partial(self):
        """The names of axes of the mesh along which each position has an addend."""
        return self.spec.partial

    @property
    def is_whole(self):
        """True if each rank has all of it."""
        return not self.spec.names and not self.partial

    @property
    def block_shape(self):
        """The shape of what this rank has."""
        return tuple([lengths[self._place(part)] for part, lengths in zip(self.parts, self.chunks, strict=True)])

    @property
    def start(self):
        """The place at which the block of this rank begins along each axis."""
        return tuple([starts(lengths)[self._place(part)] for part, lengths in zip(self.parts, self.chunks, strict=True)])

    def _place(self, part):
        return self.along(part).rank if part else 0

    def along_axis(self, axis, name):
        """The Chunks of an axis that is cut. name: what they are for."""
        return Chunks(self.along(self.parts[axis]), self.chunks[axis], name)

    def along_partial(self, name, what):
        """One element for each rank along an axis of the mesh, for sums over it."""
        comm = self.mesh.along(name)
        return one_each(comm, what)

    def cut(self, axis, part, chunks=None):
        """This layout with one axis cut by another part of the mesh, () for none."""
        parts, lengths = list(self.parts), list(self.chunks)
        parts[axis] = part
        lengths[axis] = chunks or balanced(self.shape[axis], self.along(part).size if part else 1)
        return Layout(self.mesh, self.shape, PartitionSpec(*parts, partial=self.partial), lengths)

    def reduced(self, partial):
        """This layout with other axes of the mesh along which it is a partial sum."""
        return Layout(self.mesh, self.shape, PartitionSpec(*self.parts, partial=partial), self.chunks)

    def without(self, axis):
        """The layout of what lies at one place of an axis that is not cut."""
        keep = [k for k in range(len(self.shape)) if k != axis]
        return self._of(keep)

    def _of(self, axes):
        spec = PartitionSpec(*[self.parts[k] for k in axes], partial=self.partial)
        return Layout(self.mesh, [self.shape[k] for k in axes], spec, [self.chunks[k] for k in axes])

    def stacked(self, axis, size):
        """The layout with one more axis that is not cut."""
        shape, parts, chunks = list(self.shape), list(self.parts), list(self.chunks)
        for each, new in ((shape, size), (parts, ()), (chunks, (size,))):
            each.insert(axis, new)
        return Layout(self.mesh, shape, PartitionSpec(*parts, partial=self.partial), chunks)

    def __eq__(self, other):
        return self is other or (
            type(other) is Layout
            and self._hash == other._hash
            and (self.shape, self.spec, self.chunks, self.mesh) == (other.shape, other.spec, other.chunks, other.mesh)
        )

    def __hash__(self):
        return self._hash

    def __repr__(self):
        return f"Layout({self.mesh}, shape={self.shape}, {self.spec}, chunks={self.chunks})"


def _check_spec_fits(mesh, shape, spec, where):
    """Check that a spec names axes of the mesh, each once, and fits the number of axes. Raises StructureError."""
    if type(spec) is not PartitionSpec:
        raise StructureError(f"{where}: the spec is {spec!r}; give a PartitionSpec, with the names of axes of the mesh")
    if len(spec.parts) > len(shape):
        raise StructureError(
            f"{where}: {spec} has {len(spec.parts)} parts for the {len(shape)} axes of the shape {list(shape)}"
        )
    require_names(spec, mesh, where)
