"""Boxes: which part of an array a block is, and the part that two of them share."""

import math


def box_of(layout):
    """The block of this rank as a tuple of (start, stop) for each axis."""
    return tuple([(start, start + length) for start, length in zip(layout.start, layout.block_shape, strict=True)])


def is_writer(layout):
    """Return whether this rank is the one of those with the same block that writes it, and whether it has any elements."""
    others = [name for name in layout.mesh.axis_names if name not in layout.spec.names]
    return all([layout.mesh.along(name).rank == 0 for name in others]) and math.prod(layout.block_shape) > 0


def index_of(box):
    """A box as an index."""
    return tuple([slice(start, stop) for start, stop in box])


def shared_box(one, other):
    """The box that lies in both, or None."""
    shared = tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)])
    return shared if all([start < stop for start, stop in shared]) else None


def counted_from(box, outer):
    """A box counted from the start of one around it."""
    return tuple([(a - c, b - c) for (a, b), (c, d) in zip(box, outer, strict=True)])
