"""`at(x, i).set(v)` and its kin: copies of an array changed at an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dispatch import Array, ShapeError
from ...dispatch.annotations import AnyArray
from .arithmetic import divide, maximum, minimum, multiply
from .exponential import power
from .indexing import check_write, getitem, index, index_add, index_set, split_index


class at:
    """`at(x, i).set(v)`, `.add(v)`, `.multiply(v)`, `.apply(f)`, …: copies of x changed at an index; x itself never changes.

    x: array. index: as for `x[index]`; may also be given as `at(x)[index]`. v: array or number that broadcasts to
    `x[index]` and whose dtype can be cast to x's. The convention is array-api-extra's, since NumPy arrays have no
    `.at`.

    >>> import numpy as np, polyad as pa
    >>> pa.at(np.zeros(3), 1).set(5.0)
    array([0., 5., 0.])
    """

    def __init__(self, x: Any, *index: Any) -> None:
        self.x, self.index = x, index

    def __getitem__(self, index_: Any) -> at:
        return at(self.x, index_)

    def _split(self):
        if len(self.index) != 1:
            raise ShapeError("at(x, index): give one index, at(x, i).set(v) or at(x)[i].set(v)")
        return split_index(self.x, self.index[0])

    def get(self) -> AnyArray:
        """x[index]."""
        return getitem(self.x, self.index[0])

    def set(self, v: Any) -> AnyArray:
        """x with `x[index]` replaced by v; where positions repeat, the last one counts."""
        return self._write(index_set, v)

    def add(self, v: Any) -> AnyArray:
        """x with v added to `x[index]`; where positions repeat, all are added."""
        return self._write(index_add, v)

    def subtract(self, v: Any) -> AnyArray:
        """x with v subtracted from `x[index]`; where positions repeat, all are subtracted."""
        return self._write(index_add, -v)

    def multiply(self, v: Any) -> AnyArray:
        """x with `x[index]` multiplied by v."""
        return self.apply(lambda part: multiply(part, v))

    def divide(self, v: Any) -> AnyArray:
        """x with `x[index]` divided by v. Raises DTypeError for integer x, whose quotient it cannot hold."""
        return self.apply(lambda part: divide(part, v))

    def power(self, v: Any) -> AnyArray:
        """x with `x[index]` raised to the power v."""
        return self.apply(lambda part: power(part, v))

    def min(self, v: Any) -> AnyArray:
        """x with `x[index]` replaced by the smaller of it and v."""
        return self.apply(lambda part: minimum(part, v))

    def max(self, v: Any) -> AnyArray:
        """x with `x[index]` replaced by the larger of it and v."""
        return self.apply(lambda part: maximum(part, v))

    def apply(self, f: Callable[[Any], Any]) -> AnyArray:
        """x with `x[index]` replaced by f of it; where positions repeat, f is applied once."""
        spec, arrays = self._split()
        return self._write(index_set, f(index(self.x, *arrays, spec=spec)))

    def _write(self, write, v):
        spec, arrays = self._split()
        if isinstance(self.x, Array):  # else the call itself says what is wrong
            check_write(write.card.name, self.x, v, arrays, spec)
        return write(self.x, v, *arrays, spec=spec)
