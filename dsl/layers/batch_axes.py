"""The batch axes of containers: lanes taken from them and put back, however deep containers lie in one another.

A type says by `lanes` and `stacked` where the batch axes of its own leaves are; a leaf that is a container again says so
itself. Where an axis is a batch axis of the outer one, but spanned by the structure of the inner, the inner becomes dense.
"""

from ...dispatch import is_container, tree
from ...dispatch.containers import densified
from ..axes import Stacked
from ..ops.shape import moveaxis


def lanes_taken(x, axis, take, operation):
    """Return what one lane sees of x, a container or a leaf of one, whose axis `axis`, counted from 0, is handed to
    `take(leaf, axis)`. operation: what asks, for the warning of what becomes dense."""
    if not is_container(x):
        return take(x, axis)
    if axis >= x.ndim - x.structure_ndim:
        return lanes_taken(densified(x, operation), axis, take, operation)
    return x.lanes(axis, lambda leaf, place: lanes_taken(leaf, place, take, operation))


def lanes_given(x, axis, size, give, operation):
    """The inverse: x as one lane has it, a container or a leaf of one, with `size` lanes as axis `axis`, counted from 0, by
    `give(leaf, axis)`."""
    if not is_container(x):
        return give(x, axis)
    if axis and axis > batch_axes(x):
        dense = densified(lanes_given(x, 0, size, give, operation), operation)
        return moveaxis(dense, 0, axis)
    return x.stacked(axis, size, lambda leaf, place: lanes_given(leaf, place, size, give, operation))


def batch_axes(x):
    """Count the batch axes of a container, whose leaves may be `Stacked`: of one lane."""
    return of_one_lane(x).ndim - x.structure_ndim


def of_one_lane(x):
    """A container of `Stacked` as it is in one lane."""
    return tree.map(lambda leaf: leaf.one() if type(leaf) is Stacked else leaf, x)


def stacked_tree(value, size, operation):
    """A tree with a `Stacked` of `size` steps or lanes as each leaf, as the stacked values: axis 0 goes over the steps."""
    give = lambda leaf, axis: leaf.value if axis == 0 else moveaxis(leaf.value, 0, axis)
    return tree.map(lambda unit: lanes_given(unit, 0, size, give, operation), value, is_leaf=is_container)


def containers_in(x):
    """A container and those among its leaves, however deep."""
    if is_container(x):
        yield x
        for name in x.leaves:
            yield from containers_in(getattr(x, name))
