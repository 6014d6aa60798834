"""Abstract values: shape and dtype without data, and how operations act on them.

Regular cards need no shape rule: broadcasting or the reduced axes give the shape, and the kernel itself, run on arrays
of one element, gives the dtype, so promotion is NumPy's and nobody's copy of it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dispatch import (
    Array,
    AxisError,
    Container,
    Layer,
    MissingRuleError,
    ShapeError,
    describe,
    dtype_of,
    is_number,
    isa,
    ndim_of,
    shape_of,
    tree,
)
from ..dispatch.generic import Generic

UNKNOWN = -1  # a length that is known only when the program runs: of what a loop keeps of each step


@tree.leaf
@dataclass(frozen=True)
class Aval:
    """Shape (tuple of ints) and dtype (numpy.dtype) of an array; prints as `float64[2,3]`."""

    shape: tuple
    dtype: np.dtype

    @property
    def ndim(self):
        return len(self.shape)

    def fits(self, other: Aval) -> bool:
        """Return whether both can be of one array: of the same shape and dtype, as far as lengths are known."""
        if self.dtype != other.dtype or len(self.shape) != len(other.shape):
            return False
        return all([n == m or UNKNOWN in (n, m) for n, m in zip(self.shape, other.shape, strict=True)])

    @property
    def size(self):
        return abs(math.prod(self.shape))  # an unknown length counts as one

    def __str__(self):
        return f"{self.dtype}[{','.join('?' if n == UNKNOWN else str(n) for n in self.shape)}]"


def aval_of(x):
    """Shape and dtype of an array, layer value or number."""
    return Aval(shape_of(x), dtype_of(x))


def broadcast_shapes(name, xs):
    """The common shape of the arguments, or a ShapeError naming the operation and the shapes."""
    shapes = [shape_of(x) for x in xs]
    try:
        if any([UNKNOWN in shape for shape in shapes]):
            return _of_unknown_lengths(shapes)
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{name}: shapes do not broadcast: {', '.join(describe(x) for x in xs)}") from None


def _of_unknown_lengths(shapes):
    """The common shape, where a length that is known only when the program runs fits any; a longer one that is known is it."""
    known = np.broadcast_shapes(*[tuple([1 if n == UNKNOWN else n for n in shape]) for shape in shapes])
    wide = [(1,) * (len(known) - len(shape)) + tuple(shape) for shape in shapes]
    columns = zip(*wide, strict=True)
    return tuple([UNKNOWN if n == 1 and UNKNOWN in column else n for n, column in zip(known, columns, strict=True)])


def reduced_axes(name, x, axis):
    """The axes of x a reduction runs over, as a sorted tuple of non-negative ints. Raises ShapeError."""
    ndim = ndim_of(x)
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    normal = [normalize_axis(name, a, ndim) for a in axes]
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{name}: axis {axis} names an axis twice")
    return tuple(sorted(normal))


def normalize_axis(name, axis, ndim):
    """A non-negative axis number below ndim. Raises ShapeError, AxisError if it is out of range."""
    whole = None
    if hasattr(axis, "__index__") and not isa(axis, (bool, np.bool_)):
        with suppress(TypeError):  # an array of several
            whole = axis.__index__()
    if whole is None:
        raise ShapeError(f"{name}: an axis must be an integer, not {axis!r}")
    axis = whole
    if not -ndim <= axis < ndim:
        raise AxisError(f"{name}: axis {axis} is out of range for an array with {ndim} axes")
    return axis % ndim


def number_kind(x):
    """The type of a Python number, or of a traced value that stands for one; else None."""
    return type(x) if is_number(x) else getattr(getattr(x, "variable", None), "weak", None)


def standing_of(x):
    """Return what an argument stands for, where shape and dtype do not tell (an array without axes, a value of another
    library)."""
    kind = x.standing() if isinstance(x, Layer) else type(x)
    return kind if issubclass(kind, np.ndarray) and not shape_of(x) else None


def infer(function, avals, params) -> Any:
    """The Aval of an operation's result from those of its arguments (Python numbers stand for themselves)."""
    card = function.card
    rule = card.rules.get("shape")
    if rule is not None:
        found = rule(*[aval_of(x) if is_number(x) else x for x in avals], **params)
        if type(found) is not Aval and not (isinstance(found, tuple) and all([type(a) is Aval for a in found])):
            raise MissingRuleError(
                f"{card.name}: its shape rule returned {describe(found)}; it must return polyad.Aval(shape, dtype), or a tuple "
                "of them for several results"
            )
        return found
    if card.kind == "elementwise":
        return Aval(broadcast_shapes(card.name, avals), _dtype_by_kernel(function, avals, params))
    if card.kind == "reduction":
        x = avals[0]
        axes = reduced_axes(card.name, x, params.get("axis"))
        keep = params.get("keepdims", False)
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes)
        return Aval(shape, _dtype_by_kernel(function, avals, {**params, "axis": None, "keepdims": False}))
    raise MissingRuleError(f"{card.name} has no shape rule; add @{card.name}.rule('shape') under its declaration")


def check_lanes(name, y, size):
    """Check that what the batch rule of an operation returned has all lanes. Raises ShapeError."""
    for part in y if isinstance(y, tuple) else (y,):
        if not isinstance(part, Layer) and (not isinstance(part, (Array, Container)) or shape_of(part)[:1] != (size,)):
            raise ShapeError(
                f"{name}: its batch rule returned {describe(part)} for {size} lane(s); it must return an array with the "
                "lanes as axis 0, or a tuple of them for several results"
            )


def _dtype_by_kernel(function, avals, params):
    own = Generic.own_dtype and Generic.own_dtype(function, avals, params)
    if own is not None:
        return own
    ones = [x if is_number(x) else np.ones((1,) * x.ndim, x.dtype) for x in avals]
    with np.errstate(all="ignore"):  # the numbers do not matter
        return dtype_of(function(*ones, **params))
