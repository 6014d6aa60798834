"""Named axes: the lanes of an enclosing `vmap` or `pmap`, found by name from inside."""

from contextvars import ContextVar
from typing import Any

import numpy as np

from ..dispatch import AxisNameError, StructureError
from .avals import dtype_of, shape_of

_axes: ContextVar[tuple] = ContextVar("polyad_axes", default=())


class Axis:
    """One mapped axis. name: as given (or None); size: lanes in all; depth: of the map's layer.

    A map over several processes derives from it (`spans_processes`): of the lanes, `local` run here, the first of
    them is number `offset`, `own` leaves out those that another process counts, and `across`, `join` and `leave` talk
    to the other processes.
    """

    offset = 0
    spans_processes = False
    counts = True  # the lanes here are not those of another process, which this one runs for its collectives
    takes: Any = None  # what of the processes it uses

    def __init__(self, name, size, depth):
        self.name, self.size, self.depth = name, size, depth
        self.local = size
        self.run: Any = None  # the pass over the lanes that is under way
        self.around: list = []  # results of collectives over axes of enclosing maps, in every lane here
        self.inside: list = []  # axes of maps under way in this one that ask what they are given
        self.effects = None  # for each lane here, what operations with an effect have given so far, once there are any
        self.varying = False  # lanes have answered Python differently: what a collective gives is each lane's own
        self.answers = 0  # a checksum of what Python was told in this pass, kept where other processes have lanes too

    def diverge(self, log):
        """Lanes have answered Python differently: start anew, with an empty log of the collectives. A result of a
        collective on which lanes act differently is no longer one value, counted once, but a value of each lane."""
        self.varying = True
        log.clear()

    def recorded(self, operation):
        """Return what a program holds in the place of this axis."""
        found = find_axis(self.name, operation)
        if found is not self:
            raise AxisNameError(
                f"{operation}: a trace records the axis {self.name!r} by its name, by which another map inside of it is "
                "found here; give the two maps different axis names"
            )
        return AxisName(self.name, self.size)

    def numbers(self):
        """The number of each lane, as an integer in every lane."""
        return self.run.batched(self.run.numbers())

    def own(self, lanes):
        """Of values of the lanes here (axis 0), those that count here."""
        return lanes

    def across(self, how, value, here, own, **params):
        """Combine what the lanes of this process give to a collective with the rest. how: its name; here: function of the
        values of all lanes, or of their sum, that gives the result; own: that is one for each lane here, along axis 0."""
        return here(value)

    def given(self, x):
        """Note what a collective around the map has given to each of the lanes here."""

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


class AxisName:
    """An axis in a program: the innermost of this name where the program is run. size: number of lanes when traced.

    Two of one name and size are equal, so that a step that is recorded once more is known to be the same.
    """

    __slots__ = ("name", "size")

    def __init__(self, name, size):
        self.name, self.size = name, size

    def __eq__(self, other):
        return type(other) is AxisName and (other.name, other.size) == (self.name, self.size)

    def __hash__(self):
        return hash((self.name, self.size))

    def resolve(self, op):
        """The axis of this name that encloses this point. Raises AxisNameError; StructureError if the program holds
        arrays of one element per lane, and there is another number of lanes."""
        axis = find_axis(self.name, op.card.public)
        if op.card.per_lane and axis.size != self.size:
            raise StructureError(
                f"{op.card.public}: the program was traced for {self.size} lanes along the axis {self.name!r}, not for "
                f"{axis.size}; trace it again"
            )
        return axis

    def __repr__(self):
        return repr(self.name)


def named(op, params):
    """An operation's parameters as a program keeps them: axes by their names, as the maps end before the program does."""
    if not isinstance(params.get("axis_name"), Axis):
        return params
    return {k: v.recorded(op.card.public) if isinstance(v, Axis) else v for k, v in params.items()}


def resolved(op, params):
    """The parameters of an equation where it is run: names of axes as the axes that are found by them."""
    if not isinstance(params.get("axis_name"), AxisName):
        return params
    return {k: v.resolve(op) if isinstance(v, AxisName) else v for k, v in params.items()}


def enclosing(axis, operation):
    """The axis, if it is of a map that encloses this point and is under way. Raises AxisNameError."""
    if axis not in _axes.get() or axis.run is None:
        raise AxisNameError(
            f"{operation}: the map with the axis {axis.name!r} has ended, or does not enclose this call; call it inside"
        )
    return axis


class Stacked:
    """A value of each lane along axis 0 (same=False), or one value for all lanes (same=True)."""

    __slots__ = ("same", "value")

    def __init__(self, value, same):
        self.value, self.same = value, same

    @property
    def shape(self):
        """The shape in one lane."""
        return shape_of(self.value)[0 if self.same else 1 :]

    @property
    def ndim(self):
        """The number of axes in one lane."""
        return len(self.shape)

    @property
    def dtype(self):
        return dtype_of(self.value)

    def one(self):
        """The value in the first lane; of no lanes, zeros in its place."""
        if self.same:
            return self.value
        return self.value[0] if shape_of(self.value)[0] else np.zeros(self.shape, self.dtype)


def enclosing_axes() -> Any:
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


def in_lanes(x):
    """x as a value of each lane of the maps with named axes around: what a linear function makes of it is then never the
    same in all lanes by a collective, and its cotangents are summed over the lanes once, by whoever asked for them."""
    for axis in enclosing_axes():
        if axis.name is not None and axis.run is not None:
            x = axis.run.constant(x)
    return x
