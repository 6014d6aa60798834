"""Whether all ranks call a map with the same arguments: a mark of each, that ranks compare.

Outside of a map everything is replicated, and nothing else would notice a rank that has drawn other random numbers or
read another file: the lanes of different inputs would simply be mixed.
"""

import functools
import types

import numpy as np

from ..dispatch import Layer, is_container, isa, tree
from .checksums import checksum, layers
from .structures import Structure, told


def marks(f, given):
    """Triples (what, mark, layers) of the arguments of a map and of the arrays that the closure of f holds, in order: of each
    argument its structure and a checksum of each array in it.

    given: (args, kwargs). what: for example "argument 0['w'][1]", "the closure variable 'w'". layers: of which transformations
    it is a value. Python integers of a closure count, or say which rank this is, and may differ.
    """
    args, kwargs = given
    found = []
    for name, x in [*enumerate(args), *sorted(kwargs.items())]:
        found += [(f"argument {name}", told(x)), *((f"argument {name}{p}", leaf) for p, leaf in leaves_of(x))]
    for name, value in _closure_items(f):
        label = f"the closure variable {name!r}"
        units = tree.leaves(value, is_container)
        found += [(label, told(unit)) for unit in units if is_container(unit)]
        found += [(f"{label}{p}", x) for p, x in leaves_of(value) if not isa(x, (int, np.integer))]
    return [
        (what, mark, layers(x))
        for what, x in found
        if (mark := x if isinstance(x, Structure) else checksum(x)) is not None or isinstance(x, Layer)
    ]


def differing(found):
    """Tell what differs between the ranks, from the marks of each; None if nothing does."""
    first = found[0]
    for other in found:
        for mark, its in zip(first, other, strict=False):
            if mark[0] != its[0]:
                return "the number of arrays among the arguments"
            if mark[1] != its[1]:
                both = all(isinstance(m[1], Structure) for m in (mark, its))
                return f"{mark[0]} ({mark[1]} and {its[1]})" if both else mark[0]
            if mark != its:
                return f"what follows {mark[0]} (a derivative, a map, a trace)"
    return None


def leaves_of(x):
    """Pairs (path, leaf); the path of a bare leaf is empty."""
    leaves = tree.leaves(x)
    return [("", x)] if len(leaves) == 1 and leaves[0] is x else zip(tree.paths(x), leaves, strict=True)


def _closure_items(f):
    """Pairs (name, value) of what a function itself holds, not of the functions that it calls."""
    if isinstance(f, functools.partial):
        return [*((f"{i} of partial", x) for i, x in enumerate(f.args)), *sorted(f.keywords.items()), *_closure_items(f.func)]
    f = f.__func__ if isinstance(f, types.MethodType) else f
    if not isinstance(f, types.FunctionType):
        return []
    held = []
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            held.append((name, cell.cell_contents))
        except ValueError:  # not assigned yet
            continue
    return held
