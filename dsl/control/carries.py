"""What loops carry from step to step: it keeps its structure, shapes and dtypes, eagerly and in programs."""

import numpy as np

from ...dispatch import Array, DTypeError, StructureError, describe, tree
from ..avals import aval_of, dtype_of, is_number, shape_of
from ..layers.batching import lanes_of
from ..ops.complex import astype
from .subprograms import as_array, as_numbers, joined_lanes, lanes_out, number_kind, number_type, settled, varying, wider

NUMBERS = frozenset((bool, int, float, complex))


def _same_aval(x, y):
    """Return whether two leaves are of one shape and dtype; of numbers and arrays, False."""
    if type(x) in NUMBERS or type(y) in NUMBERS:
        return type(x) is type(y)
    return x.dtype == getattr(y, "dtype", False) and x.shape == y.shape


class Carry:
    """The carry of a loop. name: of the loop, for messages; what: which of its functions gives the next value; within: the
    place of the user's value in `init`, which messages leave out.

    given: the leaves of the first value; leaves: the same with Python numbers as arrays, for programs; weak: their Python
    types, where they are numbers in every step.
    """

    def __init__(self, name, what, init, within=""):
        self.name, self.what, self.within = name, what, within
        self.given, self.structure = tree.flatten(init)
        self.leaves = self.given
        for i, x in enumerate(self.given):
            if not is_number(x) and (not isinstance(x, Array) or dtype_of(x).kind not in "biufc"):
                where = f"{name}: the first carry{self._path(i)}"
                raise DTypeError(f"{where} is {describe(x)}, no array of numbers; let {what} read it from outside")

    def tree(self, leaves):
        return tree.unflatten(self.structure, list(leaves))

    def match(self, value):
        """The leaves of the next value. Raises StructureError if it is of another structure."""
        leaves, structure = tree.flatten(value)
        if structure != self.structure:
            raise StructureError(
                f"{self.name}: {self.what} must return what the loop carries, {tree.show(self.structure)}, not "
                f"{tree.show(structure)}"
            )
        return leaves

    def following(self, leaves, value):
        """(leaves, value) of the next step, from the leaves before it and what the user's function returned. A Python number
        becomes an array if there was one before. Raises StructureError if structure, shapes or dtypes change."""
        if self.structure is tree.LEAF and type(value) is np.ndarray and _same_aval(leaves[0], value):  # the common case
            return [value], value
        new, converted = self.match(value), False
        for i, (x, y) in enumerate(zip(leaves, new, strict=True)):
            if _same_aval(x, y):
                continue
            new[i] = self._as_before(i, x, y)
            converted = converted or new[i] is not y
        return new, self.tree(new) if converted else value

    def _as_before(self, i, x, y):
        self._check_array(i, y)
        if is_number(x) and is_number(y):
            return y
        fits = shape_of(x) == shape_of(y) and (is_number(x) or is_number(y))
        number, dtype = (x, dtype_of(y)) if is_number(x) else (y, dtype_of(x))
        if not fits or np.result_type(type(number)(1), dtype) != dtype:
            raise self._changed(i, aval_of(x), aval_of(y))
        return as_array(y, x, dtype)

    def _check_array(self, i, y):
        if not is_number(y) and not isinstance(y, Array):
            where = f"for the carry{self._path(i)}"
            raise DTypeError(f"{self.name}: {self.what} returned {describe(y)} {where}, no array of numbers")

    def next(self, value):
        """The leaves of the next value, in a trace."""
        leaves = self.match(value)
        for i, y in enumerate(leaves):
            self._check_array(i, y)
        return [varying(y, its) for y, its in zip(leaves, self.lanes, strict=True)]

    def _path(self, i):
        return tree.paths(self.tree(range(len(self.given))))[i].removeprefix(self.within)

    def _changed(self, i, old, new):
        return StructureError(
            f"{self.name}: the carry{self._path(i) or ' itself'} is {old} before a step and {new} after it; shapes and dtypes "
            f"must stay: give the first value in that form, or use astype, reshape or broadcast_to in {self.what}"
        )

    def traced(self, trace, example, peel=False):
        """(program, values it reads) of a step, from `trace(leaves, their lanes) -> (program, values)`, whose first results are
        the next carry. Python numbers among the first values become arrays of the dtype that the steps give them, or stay
        numbers.

        Where steps make a value vary between the lanes of a map that was the same in all, it varies from the start; peel: then
        return None, for the first step to be made before the loop.
        """
        count = len(self.given)
        self.lanes = [lanes_of(x) for x in self.leaves]
        while True:
            program, read = trace(self.leaves, self.lanes)
            wanted = [self._for(i, new, example) for i, new in enumerate(program.outputs[:count])]
            lanes = [joined_lanes(column) for column in zip(self.lanes, lanes_out(program), strict=False)]
            if lanes == self.lanes and all([x is y for x, y in zip(wanted, self.leaves, strict=True)]):
                break
            if peel and lanes != self.lanes:
                return None
            self.lanes = lanes
            self.leaves = [varying(x, its) for x, its in zip(wanted, lanes, strict=True)]
        self.weak = [number_kind(x) for x in self.leaves]
        self.leaves = [as_array(x, example) for x in self.leaves]
        return settled(program, [aval_of(x) for x in self.leaves], example), read

    def _for(self, i, new, example):
        """Leaf i of the carry as it must be for a step that gave `new`, a Var or a number."""
        old, number = self.leaves[i], number_type(new)
        own = number_kind(old)
        if own and number:
            kind = wider(own, number)
            if kind is own:
                return old
            return kind(old) if is_number(old) else as_numbers([astype(old, dtype=np.dtype(kind))], [kind])[0]
        found = aval_of(number(1)) if number else new.aval
        if own:
            dtype, fits = found.dtype, np.result_type(own(1), found.dtype) == found.dtype
        else:
            dtype = dtype_of(old)
            fits = (np.result_type(number(1), dtype) if number else found.dtype) == dtype
        if not fits or shape_of(old) != found.shape:
            raise self._changed(i, aval_of(old), found)
        return as_array(old, example, dtype) if is_number(old) or not own else astype(old, dtype=dtype)
