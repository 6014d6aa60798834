"""`r_` and `c_`: arrays put together in brackets, as NumPy's objects of these names do, of followed values too.

NumPy's own cannot follow: brackets of an object of NumPy's ask nobody else. Ranges in them are numbers, not followed.
"""

import numpy as np

from ...dispatch import ShapeError, isa
from ..avals import dtype_of, is_number, ndim_of
from ..ops.create import arange, asarray, linspace
from ..ops.shape import concatenate, expand_dims, moveaxis, reshape


class Joiner:
    """Joins what stands in its brackets: arrays and numbers along `axis`, each brought to `ndmin` axes.

    axis: along which. ndmin: number of axes at least. place: where in these the axes of an array of fewer go: the first of
    them at this position; -1: as the last ones. A string as the first entry, "axis", "axis,ndmin" or "axis,ndmin,place",
    says otherwise for that call.
    """

    def __init__(self, name, axis, ndmin, place):
        self.name, self.default = name, (axis, ndmin, place)

    def __repr__(self):
        return f"polyad.{self.name}"

    def __getitem__(self, key):
        """The joined array. start:stop:step is a range, start:stop:nj one of n numbers, both ends among them.

        Raises ShapeError for arrays that do not fit together and for directives that are no integers.
        """
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self.default
        if parts and isinstance(parts[0], str):
            axis, ndmin, place = self._directive(parts.pop(0))
        if not parts:
            raise ShapeError(f"{self.name}: nothing stands in the brackets; give arrays, numbers or ranges")
        parts = [_range(p) if isinstance(p, slice) else p for p in parts]
        parts = [p if is_number(p) else asarray(p) for p in parts]
        dtype = np.result_type(*[p if is_number(p) else dtype_of(p) for p in parts])
        ready = [_of_axes(asarray(p, dtype=dtype) if is_number(p) else p, ndmin, place) for p in parts]
        return concatenate(ready, axis=axis)

    def _directive(self, text):
        try:
            given = [int(n) for n in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            raise ShapeError(
                f"{self.name}: {text!r} is no 'axis', 'axis,ndmin' or 'axis,ndmin,place' of integers; for matrices ('r', 'c') "
                "use polyad.reshape"
            )
        return (*given, *self.default[len(given) :])


def _range(s):
    """The numbers of a slice, as NumPy reads it in brackets."""
    start, step = 0 if s.start is None else s.start, s.step
    if isa(step, complex):
        return linspace(start, s.stop, num=int(abs(step)))
    return arange(start, s.stop, 1 if step is None else step)


def _of_axes(x, ndmin, place):
    """x with at least ndmin axes, its own beginning at `place` of them."""
    own = ndim_of(x)
    missing = ndmin - own
    if missing <= 0:
        return x
    if not own:
        return reshape(x, shape=(1,) * ndmin)
    x = expand_dims(x, tuple(range(missing)))
    if place == -1:
        return x
    first = place + missing + 1 if place < 0 else place
    return moveaxis(x, list(range(missing, ndmin)), list(range(first, first + own)))


r_ = Joiner("r_", 0, 1, -1)
c_ = Joiner("c_", -1, 2, 0)
