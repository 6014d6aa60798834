"""Named axes: the lanes of an enclosing `vmap` or `pmap`, found by name from inside."""

from contextvars import ContextVar

from ..dispatch import AxisNameError
from .avals import shape_of

_axes = ContextVar("polyad_axes", default=())


class Axis:
    """One mapped axis. name: as given (or None); size: lanes in all; depth: of the map's layer.

    A map over several processes derives from it (`spans_processes`): of the lanes, `local` run here, the first of
    them is number `offset`, `own` leaves out those that another process counts, and `across`, `join` and `leave` talk
    to the other processes.
    """

    offset = 0
    spans_processes = False

    def __init__(self, name, size, depth):
        self.name, self.size, self.depth = name, size, depth
        self.local = size
        self.run = None  # the pass over the lanes that is under way

    def numbers(self):
        """The number of each lane, as an integer in every lane."""
        return self.run.batched(self.run.numbers())

    def own(self, lanes):
        """Of values of the lanes here (axis 0), those that count here."""
        return lanes

    def across(self, how, value):
        """Combine what the lanes here give to a collective (how: "sum" of them, or all to "gather") with the rest."""
        return value

    def join(self, outputs):
        """Structure and units of the results over all lanes, from the `Outputs` here."""
        return outputs.leaves()

    def leave(self, signal):
        """A signal of an enclosing map ends the pass under way."""

    def __enter__(self):
        _axes.set((*_axes.get(), self))
        return self

    def __exit__(self, *error):
        _axes.set(_axes.get()[:-1])

    def __repr__(self):
        return repr(self.name)


class Stacked:
    """A value of each lane along axis 0 (same=False), or one value for all lanes (same=True)."""

    __slots__ = ("same", "value")

    def __init__(self, value, same):
        self.value, self.same = value, same

    @property
    def shape(self):
        """The shape in one lane."""
        return shape_of(self.value)[0 if self.same else 1 :]


def enclosing_axes():
    """The axes of all enclosing maps, outermost first."""
    return _axes.get()


def find_axis(name, operation):
    """The innermost enclosing axis of this name. Raises AxisNameError, listing the names that are bound."""
    for axis in reversed(_axes.get()):
        if axis.name is not None and axis.name == name:
            return axis
    bound = ", ".join(repr(a.name) for a in _axes.get() if a.name is not None) or "none"
    raise AxisNameError(
        f"{operation}: no axis named {name!r} here (bound: {bound}); call it inside vmap or pmap with "
        f"axis_name={name!r}"
    )
