"""Sharded arrays in maps: what lies on a rank are the lanes that it runs, and what they give stays there."""

import zlib

import numpy as np

from ...dispatch import is_container, tree
from ...dsl import moveaxis
from ...dsl.axes import Stacked
from ...dsl.layers.mapped_inputs import MappedContainer
from .array import Sharded, made, moved_to
from .chunks import balanced
from .layout import Layout


class OwnLanes:
    """The lanes of this process of a mapped argument. value: an array that has them along axis 0, or a MappedContainer. leaf:
    the array itself."""

    def __init__(self, value):
        self.value = value
        self.leaf = value.whole.block if type(value) is MappedContainer else value


def any_sharded(units):
    """Return whether there is a Sharded array among the arguments of a map."""
    return any([isinstance(x.whole if type(x) is MappedContainer else x, Sharded) for x in units])


def lanes_here(units, mapped, place, size, what):
    """The arguments of a map along an axis of a mesh: of those that are Sharded the lanes of this process, if they are mapped,
    and all of them if not. place: the mesh and the name of the axis."""
    local = []
    for x, is_mapped in zip(units, mapped, strict=True):
        if is_mapped and type(x) is MappedContainer and isinstance(x.whole, Sharded):
            x = _own_lanes(x.whole, x.axis, place, size, what)
        elif not is_mapped and isinstance(x, Sharded):
            x = _uncut(x, place[1], what)
        local.append(x)
    return local


def _own_lanes(x, axis, place, size, what):
    """The own lanes of a Sharded array; all of them as a plain array where there are fewer than ranks."""
    mesh, name = place
    count = mesh.along(name).size
    if x.mesh != mesh or size < count:
        return moveaxis(x.dense(), axis, 0)
    x = moved_to(x, _free_of(x.layout, name, axis).reduced(()).cut(axis, (name,), balanced(size, count)), what)
    rest = x.layout.cut(axis, ())
    if rest.is_whole:
        return OwnLanes(moveaxis(x.block, axis, 0))
    here = x.block.shape[axis]
    return OwnLanes(MappedContainer(what, made(x.block, rest.without(axis).stacked(axis, here)), axis))


def _uncut(x, name, what):
    """A Sharded array that is the same in all lanes: not cut along the axis of the map, whole where nothing else cuts it."""
    layout = _free_of(x.layout, name, None).reduced(())
    x = moved_to(x, layout, what)
    return x.block if layout.is_whole else x


def _free_of(layout, name, but):
    """The layout with the axes that `name` cuts whole, except one."""
    for axis, part in enumerate(layout.parts):
        if name in part and not (axis == but and part == (name,)):
            layout = layout.cut(axis, ())
    return layout


def kept_lanes(unit, own, place, size):
    """Put what the lanes give, each rank its own, into a `Stacked` of a Sharded array that is cut along axis 0.

    unit: a `Stacked`, or a Sharded array of one. own: function of such a leaf: of all lanes that count here the value."""
    mesh, name = place
    lengths = balanced(size, mesh.along(name).size)
    if isinstance(unit, Sharded):
        block = own(unit.block)
        return Stacked(made(block, unit.layout.stacked(0, size).cut(0, (name,), lengths)), False)
    block = own(unit)
    layout = Layout(mesh, (size, *block.shape[1:])).cut(0, (name,), lengths)
    return Stacked(made(block, layout), False)


def is_kept(unit):
    """Return whether a result of a map differs between lanes and can stay where they ran: an array, no other container."""
    if isinstance(unit, Sharded):
        return not unit.block.same
    return type(unit) is Stacked and not unit.same


def as_compared(given):
    """Arguments of a map as the ranks compare them: of a Sharded array what it is on all of them."""

    def told(x):
        return np.array(zlib.crc32(repr(x.layout).encode())) if isinstance(x, Sharded) else x

    return tree.map(told, given, is_leaf=is_container)
