"""Values that share elements, as NumPy's arrays and their views do, and the write that all of them see.

A write rebinds the object that was written to, so every name for it sees the write and nothing that was recorded before
changes. Where NumPy would have made a view, the two objects share a `Memory`: a write to either is carried over to all that
share it. Where it cannot be known whether NumPy's result would be a view (a reshape, which depends on how the elements lie),
a write while both are in use is a MutationError.
"""

import weakref

from ..dispatch import Layer, MutationError, become, shape_of, snapshot, type_name
from .avals import dtype_of, ndim_of

ADVICE = "write to a copy (y = x.copy()), or make a changed copy, x = x.at[i].set(v)"


class Memory:
    """Elements that several values share. root: the whole as it is now, an object of nobody's; members: who shares it."""

    __slots__ = ("limit", "members", "root")

    def __init__(self, x):
        self.root, self.members, self.limit = snapshot(x), [], 8
        x.memory = Part(self, None, None, ())
        self.members.append(weakref.ref(x))

    def add(self, y, part):
        y.memory = part
        if len(self.members) >= self.limit:
            self.members = [m for m in self.members if m() is not None]
            self.limit = 2 * len(self.members) + 8
        self.members.append(weakref.ref(y))

    def others(self, x):
        """Who shares these elements beside x and is still in use."""
        found = [m() for m in self.members]
        return [y for y in found if y is not None and y is not x and y.memory.memory is self]


class Part:
    """Which part of a memory a value is: `read(root)` gives it, `write(root, new)` the root with that part changed.

    write is READ_ONLY where NumPy's view is, UNKNOWN where it cannot be known whether there is one. path: the same for the
    same part, by basic indexing.
    """

    __slots__ = ("memory", "path", "read", "write")

    def __init__(self, memory, read, write, path):
        self.memory, self.read, self.write, self.path = memory, read, write, path


READ_ONLY, UNKNOWN = "read only", "unknown"
LONGEST = 32  # views of views that are followed; beyond, a write is refused


def link(x, y, read, write, step):
    """y is the view `read(x)` of x; `write(x, new)` is x with that part changed, or READ_ONLY or UNKNOWN."""
    above = getattr(x, "memory", None)
    if above is None:
        Memory(x)
        above = x.memory
    if write is UNKNOWN or above.write is UNKNOWN or len(above.path) > LONGEST:
        above.memory.add(y, Part(above.memory, None, UNKNOWN, (object(),)))
        return
    if above.read is not None:
        outer_read, outer_write, inner_read, inner_write = above.read, above.write, read, write
        read = lambda root: inner_read(outer_read(root))
        if outer_write is READ_ONLY or inner_write is READ_ONLY:
            write = READ_ONLY
        else:
            write = lambda root, new: outer_write(root, inner_write(outer_read(root), new))
    above.memory.add(y, Part(above.memory, read, write, (*above.path, step)))


# ---------------------------------------------------------------------- writing
def assign(x, new):
    """Rebind x to a value of its shape and dtype, and all that shares elements with it to what they are then."""
    part = getattr(x, "memory", None)
    if x.run.written(x, new, part.memory.others(x) if part else ()):
        return
    new = _within(x, new)
    if part is None:
        become(x, new)
        return
    if part.write is READ_ONLY:
        raise MutationError(f"a write to {shown(x)}, which in NumPy is a read-only view (broadcast, diagonal); {ADVICE}")
    others = part.memory.others(x)
    if not others:
        become(x, new)
        del x.memory
        if not ndim_of(x):
            Memory(x)  # it stays an array
        return
    for unsure in (x, *others):
        if unsure.memory.write is UNKNOWN:
            raise MutationError(
                f"a write to {shown(x)} while {shown(others[0])} is in use, one made from the other by reshape or ravel "
                f"(or by very many views): NumPy lets them share elements or not, as these lie in memory; {ADVICE}"
            )
    root = new if part.write is None else part.write(part.memory.root, new)
    part.memory.root = snapshot(root)
    become(x, new)
    for y in others:
        become(y, _within(y, root if y.memory.read is None else y.memory.read(part.memory.root)))


def _within(x, new):
    """A new value for x as one of x's transformation."""
    if isinstance(new, Layer) and type(new).depth == type(x).depth:
        return new
    if isinstance(new, Layer) and type(new).depth > type(x).depth:
        raise MutationError(
            f"a value of {new.run.name} (entered at {new.run.where}) was written into {shown(x)} of {x.run.name}, which is "
            "around it and goes on without it; return the value from the inner transformation, or make the buffer inside"
        )
    return x.run.constant(new)


def shown(x):
    return f"{type_name(type(x))} of {dtype_of(x)}{list(shape_of(x))}"
