"""`PartitionSpec`: which axes of a mesh cut which axes of an array."""

from __future__ import annotations

from typing import Any

from ...dispatch import Immutable, StructureError


class PartitionSpec(Immutable):
    """The way an array lies on a mesh.

    parts: for each axis of the array the name of an axis of the mesh, along which it is cut into blocks, a tuple of such names
    (the last is the fastest), or None for an axis that is whole; missing ones are whole. Along the other axes of the mesh each
    position has the same block. partial: names of axes of the mesh along which each position has an addend of the array.

    >>> import polyad as pa
    >>> pa.PartitionSpec("data", None, ("rows", "columns"))
    PartitionSpec('data', None, ('rows', 'columns'))
    >>> pa.PartitionSpec("data", partial="model")
    PartitionSpec('data', partial='model')
    """

    __slots__ = ("parts", "partial")

    def __init__(self, *parts: Any, partial: Any = None) -> None:
        self.parts = tuple([_as_names(part) for part in parts])
        self.partial = _as_names(partial)

    @property
    def names(self) -> tuple[Any, ...]:
        """All names of axes along which an array is cut."""
        return tuple([name for part in self.parts for name in part])

    def __eq__(self, other: object) -> bool:
        return type(other) is PartitionSpec and (other.parts, other.partial) == (self.parts, self.partial)

    def __hash__(self) -> int:
        return hash((self.parts, self.partial))

    def __repr__(self) -> str:
        shown = [_shown(part) for part in self.parts]
        if self.partial:
            shown.append(f"partial={_shown(self.partial)}")
        return f"PartitionSpec({', '.join(shown)})"


def require_names(spec, mesh, place):
    """Raise StructureError unless a spec names axes of the mesh, each once."""
    named = (*spec.names, *spec.partial)
    for name in named:
        if name not in mesh.shape or named.count(name) > 1:
            what = " twice" if name in mesh.shape else f"; the axes of the mesh are {', '.join(map(repr, mesh.shape))}"
            raise StructureError(f"{place}: {spec} names {name!r}{what}")


def _as_names(part):
    return () if part is None else tuple(part) if isinstance(part, (tuple, list)) else (part,)


def _shown(part):
    return repr(part[0]) if len(part) == 1 else repr(part) if part else "None"
