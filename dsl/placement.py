"""Where arrays are to lie: what `jit(in_shardings=…, out_shardings=…)` asks of the floor that knows ranks, and what makes new
arrays there."""

from contextvars import ContextVar
from typing import Any

from ..dispatch import generic, is_container, tree

new_arrays: ContextVar[Any] = ContextVar("polyad_new_arrays", default=None)  # creation functions that go before a device's


@generic
def placed(x, where, /):
    """The array x as it lies where `where` says. A floor that knows such places adds a method for their class.

    Raises MethodError for a class without one.
    """


def placed_tree(x, where, what):
    """A tree with each array where an entry of `where` says: a tree whose upper part is that of x, or one for all; None leaves
    an array where it is. what: for messages. Raises StructureError for one that does not fit."""
    leaves, structure = tree.flatten(x, is_container)
    places = tree.broadcast_prefix(tuple(where) if type(where) is list and type(x) is tuple else where, x, what, is_container)
    return tree.unflatten(
        structure, [leaf if place is None else placed(leaf, place) for leaf, place in zip(leaves, places, strict=True)]
    )
