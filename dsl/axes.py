"""Named axes: the lanes of an enclosing `vmap` or `pmap`, found by name from inside."""

from contextvars import ContextVar

from ..dispatch import AxisNameError

_axes = ContextVar("polyad_axes", default=())


class Axis:
    """One mapped axis. name: as given (or None); size: lanes in all; depth: of the map's layer.

    A map over several processes derives from it: `local` lanes are here, the first of them is number `offset`, and
    `across` and `vary` talk to the other processes.
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

    def across(self, how, value, **params):
        """Combine a value that is already reduced over the lanes here with those of the other processes."""
        return value

    def vary(self, value, run):
        """A value that is the same in all lanes, on its way into an operation of the lanes."""
        return value

    def __enter__(self):
        _axes.set((*_axes.get(), self))
        return self

    def __exit__(self, *error):
        _axes.set(_axes.get()[:-1])

    def __repr__(self):
        return repr(self.name)


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
        f"{operation}: no axis named {name!r} here (bound: {bound}); call it inside vmap or pmap with axis_name={name!r}"
    )
