"""Trees as lists of arrays and back, and the tangents and cotangents that a user's rule gives for them."""

from typing import Any

import numpy as np

from ...dispatch import Array, DTypeError, ShapeError, StructureError, describe, is_container, isa, settled, tree
from ...dsl.arrays import Zeros
from ...dsl.avals import aval_of, dtype_of, is_number, shape_of
from ..inputs import NoTangent, inexact
from ..rules.projection import match_dtype
from ..sweeps import in_structure


class Packing:
    """A tree taken apart into arrays: `arrays`, its leaves that are numbers or arrays; other leaves belong to it.

    Floating Python numbers become NumPy's, as the layers want them.
    """

    def __init__(self, value):
        leaves, self.structure = tree.flatten(value)
        leaves = [settled(x) for x in leaves]
        self.places = [i for i, x in enumerate(leaves) if _is_array_leaf(x)]
        self.others = [None if _is_array_leaf(x) else x for x in leaves]
        self.arrays = [_as_array(leaves[i]) for i in self.places]
        self.avals = [aval_of(x) for x in self.arrays]

    def detached(self):
        """This packing without the arrays themselves."""
        self.arrays = None
        return self

    arrays: Any

    def tree(self, arrays):
        """The tree with these arrays."""
        return tree.unflatten(self.structure, self._leaves(arrays, self.others))

    def tangents(self, tangents, primals):
        """The tree of tangents of these primals: `NoTangent` for leaves without a tangent space."""
        boxed = [_Box(t) if isinstance(t, Zeros) else t for t in tangents]  # a node of trees, where a leaf is meant
        given = [t if inexact(a) else NoTangent for t, a in zip(boxed, self.avals, strict=True)]
        none = [NoTangent] * len(self.others)
        whole = in_structure(self.structure, self._leaves(given, none), self._leaves(primals, self.others))
        if not any([isinstance(t, _Box) for t in boxed]):
            return whole
        return tree.map(lambda t: t.value if isinstance(t, _Box) else t, whole)

    def _leaves(self, arrays, others):
        leaves = list(others)
        for i, x in zip(self.places, arrays, strict=True):
            leaves[i] = x
        return leaves

    def entries(self, given, where):
        """The tangents or cotangents that a rule gave for the arrays: a list, with None for zero.

        given: a tree of the same structure, in which None, NoTangent or Zeros may stand for a leaf or a whole subtree.
        where: what it is, for errors. Raises StructureError, ShapeError, DTypeError.
        """
        leaves, structure = tree.flatten(given)
        if structure != self.structure:
            leaves = self._spread(given, where)
        paths = None
        found = []
        for i, c in enumerate(leaves):
            n = self.places.index(i) if i in self.places else None
            try:
                found.append((n, _match_leaf(c, None if n is None else self.avals[n])))
            except (ShapeError, DTypeError) as error:
                paths = paths or tree.paths(tree.unflatten(self.structure, list(range(len(leaves)))))
                raise type(error)(f"{where}{paths[i]} {error}") from None
        return [c for n, c in found if n is not None]

    def _spread(self, given, where):
        """One entry for each leaf, from a tree whose upper part is this one's."""
        boxes = tree.map(_Box, _substituted(given), is_leaf=_is_zero)
        model = tree.unflatten(self.structure, list(range(len(self.others))))
        try:
            entries: Any = tree.broadcast_prefix(boxes, model, where)
        except StructureError:
            entries = None
        alone = entries is not None and all(
            _is_zero(box.value) or sum(b is box for b in entries) == 1 for box in {id(b): b for b in entries if b}.values()
        )
        if not alone:
            raise StructureError(
                f"{where} is {tree.show(tree.structure(given))}; it must have the structure {tree.show(self.structure)}, with "
                "None or polyad.NoTangent where it is zero"
            )
        return [None if box is None else box.value for box in entries or ()]


class _Box:
    def __init__(self, value):
        self.value = value


def _is_zero(x):
    return x is None or x is NoTangent or isinstance(x, Zeros)


def _substituted(given):
    """The tree with each stand-in (a tangent of a container) as the node that it stands for."""
    stands_in = lambda x: type(x) in tree.stand_ins or _is_zero(x)
    return tree.map(lambda x: tree.stand_ins[type(x)](x) if type(x) in tree.stand_ins else x, given, is_leaf=stands_in)


def _is_array_leaf(x):
    return isinstance(x, Array) and not is_container(x) and dtype_of(x).kind in "biufc"


def _as_array(x):
    return np.asarray(x)[()] if isa(x, (float, complex)) and is_number(x) else x


def _match_leaf(c, aval):
    """A tangent or cotangent in the dtype of its leaf, None for zero. Errors begin where the place is to be said."""
    if _is_zero(c):
        if isinstance(c, Zeros) and aval is not None and c.shape != aval.shape:
            raise ShapeError(f"is Zeros of shape {list(c.shape)}; it needs the shape {list(aval.shape)}")
        return None
    if aval is None or not inexact(aval):
        if _is_array_leaf(c) and (dtype_of(c).kind in "biu" or is_number(c) and c == 0):  # the leaf itself, or a written zero
            return None
        what = "a value that is no array" if aval is None else f"{aval}, which has no tangent space"
        raise DTypeError(f"is {describe(c)} for {what}; give polyad.NoTangent or None")
    if not _is_array_leaf(c):
        raise DTypeError(f"is {describe(c)}; it must be an array of shape {list(aval.shape)}")
    if shape_of(c) != aval.shape:
        raise ShapeError(f"has the shape {list(shape_of(c))}; it needs the shape {list(aval.shape)} of {aval}")
    if not np.can_cast(dtype_of(c), aval.dtype, "same_kind"):
        raise DTypeError(f"has the dtype {dtype_of(c)}, which does not fit {aval}; take its real part")
    return match_dtype(_as_array(c), aval)
