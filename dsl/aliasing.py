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
        self.root, self.members, self.limit = snapshot(x), [weakref.ref(x)], 8
        x.memory = Part(self, ())

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
    """The part of a memory that a value is: what the views give one after the other, from the whole on.

    A view is (read, write, step): `read(x, step)` gives it of x, `write(x, new, step)` x with that part changed. write is
    READ_ONLY where NumPy's view is, UNKNOWN where it cannot be known whether there is one. step: the same for the same view.
    Nothing is worked out before somebody writes, which mostly nobody does.
    """

    __slots__ = ("memory", "views")

    def __init__(self, memory, views):
        self.memory, self.views = memory, views

    def read(self, root):
        """The part of the whole."""
        for read, _, step in self.views:
            root = read(root, step)
        return root

    def write(self, root, new):
        """The whole with the part changed."""
        return _changed(root, new, self.views)

    @property
    def unsure(self):
        """Return whether it cannot be known that NumPy's array is a view."""
        return any([write is UNKNOWN for _, write, _ in self.views])

    @property
    def fixed(self):
        """Return whether NumPy refuses to write to it."""
        return any([write is READ_ONLY for _, write, _ in self.views])

    @property
    def path(self):
        """The same for the same part."""
        return (object(),) if self.unsure else tuple([step for _, _, step in self.views])


def _changed(x, new, views):
    if not views:
        return new
    (read, write, step), *further = views
    return write(x, _changed(read(x, step), new, further) if further else new, step)


READ_ONLY, UNKNOWN = "read only", "unknown"
MAX_VIEW_CHAIN = 32  # views of views that are followed; beyond, a write is refused
TOO_LONG = (None, UNKNOWN, None)
FLAT = "flat"  # the step of `x.flat`, which is no array in NumPy: it is read and written through, however x lies in memory


def link(x, y, view):
    """y is such a view of x: (read, write, step)."""
    above = getattr(x, "memory", None)
    if above is None:
        Memory(x)
        above = x.memory
    views = above.views
    if views and views[-1][2] == FLAT:
        return  # what is taken of `x.flat` is a copy
    above.memory.add(y, Part(above.memory, (*views, view) if len(views) <= MAX_VIEW_CHAIN else (TOO_LONG,)))


def is_flat(x):
    """Return whether a layer value is the `flat` of another."""
    part = getattr(x, "memory", None)
    return part is not None and bool(part.views) and part.views[-1][2] == FLAT


def unlinked(op, x, **params):
    """`op(x)`, all parameters given, where nobody writes to x or the result: then it need not be known that it is a view."""
    return getattr(op.generic.table.get(type(x)), "unlinked", op)(x, **params)


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
    if part.fixed and not part.unsure:
        raise MutationError(f"a write to {shown(x)}, which in NumPy is a read-only view (broadcast, diagonal); {ADVICE}")
    others = part.memory.others(x)
    if not others:
        become(x, new)
        del x.memory
        if not ndim_of(x):
            Memory(x)  # it stays an array
        return
    for unsure in (x, *others):
        if unsure.memory.unsure:
            raise MutationError(
                f"a write to {shown(x)} while {shown(others[0])} is in use, one made from the other by reshape or ravel "
                f"(or by very many views): NumPy lets them share elements or not, as these lie in memory; {ADVICE}"
            )
    part.memory.root = snapshot(part.write(part.memory.root, new))
    become(x, new)
    for y in others:
        become(y, _within(y, y.memory.read(part.memory.root)))


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
