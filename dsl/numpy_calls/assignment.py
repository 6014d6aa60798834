"""In-place code on followed values, `x[i] = v` and `x += v`: a new value is computed, and the object rebound to it."""

import numpy as np

from ...dispatch import (
    Container,
    DTypeError,
    Layer,
    MutationError,
    ShapeError,
    describe,
    is_container,
    isa,
    shape_of,
    type_name,
)
from ..aliasing import assign, is_flat, shown
from ..avals import dtype_of, ndim_of
from ..ops.compare import where
from ..ops.complex import astype
from ..ops.create import arange_like, asarray
from ..ops.indexing import check_write, index_set, result_aval, split_index
from ..ops.shape import broadcast_to, reshape, size_of


def setitem(x, key, v):
    """`x[key] = v` on a layer value. Raises MutationError, ShapeError, DTypeError, IndexError."""
    if isinstance(x, Container):
        raise MutationError(f"item assignment: {type_name(type(x))} does not change; make another one from its leaves, or "
                            "write to its dense form, x.dense()")  # fmt: skip
    if x.run.closed and not x.lasting:
        raise x.run.leaked()
    v = asarray(v) if isinstance(v, (list, tuple)) else v
    if _is_mask(x, key, v):
        update(x, where(reshape(key, shape=(*shape_of(key), *(1,) * (ndim_of(x) - ndim_of(key)))), v, x), "item assignment")
        return
    spec, arrays = split_index(x, key)
    if not arrays and _is_part(v, x, spec):
        return
    if is_flat(x) and ndim_of(v) and size_of(v) and result_aval(x, arrays, spec).ndim:
        v = repeated(v, result_aval(x, arrays, spec).size)
    if ndim_of(v) and shape_of(v)[0] == 1:  # NumPy drops leading axes of length 1 that the selection lacks
        n = result_aval(x, arrays, spec).ndim
        while ndim_of(v) > n and shape_of(v)[0] == 1:
            v = reshape(v, shape=shape_of(v)[1:])
    check_write("item assignment", x, v, arrays, spec)
    assign(x, index_set(x, v, *arrays, spec=spec))


def repeated(values, n):
    """The elements of an array in order, again from the first if they are fewer than n."""
    m = size_of(values)
    flat = reshape(values, shape=(m,))
    return flat if m == n else flat[arange_like(values, n) % m]


def _is_part(v, x, spec):
    """Return whether v is the part of x at an index already: Python writes `x[i] += v` back after adding in place."""
    a, b = getattr(v, "memory", None), getattr(x, "memory", None)
    return a is not None and b is not None and a.memory is b.memory and a.path == (*b.path, spec)


def _is_mask(x, key, v):
    """Return whether to write one value, or one row, wherever a mask says; not as many values as it selects."""
    if not isa(key, (np.ndarray, Layer, bool, np.bool_)) or dtype_of(key).kind != "b":
        return False
    return shape_of(x)[: ndim_of(key)] == shape_of(key) and ndim_of(v) <= ndim_of(x) - ndim_of(key)


def update(x, y, name):
    """Rebind x to y, as `out=x` does: y broadcasts to x's shape and its dtype can be cast to x's."""
    if shape_of(y) != shape_of(x):
        y = broadcast_to(y, shape=shape_of(x))
    if dtype_of(y) != dtype_of(x):
        if not np.can_cast(dtype_of(y), dtype_of(x), "same_kind"):
            raise DTypeError(f"{name}: a result of {dtype_of(y)} cannot be written into {describe(x)}; convert with .astype")
        y = astype(y, dtype=dtype_of(x))
    assign(x, y)


def in_place(op, symbol):
    """`x op= v` as a method: the object changes, except for a number, which has no memory to change."""

    def method(self, other):
        if is_container(self):
            return NotImplemented
        y = op(self, other)
        if is_number_like(self):
            return y
        if shape_of(y) != shape_of(self):
            raise ShapeError(f"x {symbol} v: the result has the shape {list(shape_of(y))}, x {list(shape_of(self))}; write "
                             f"x = x {symbol[:-1]} v")  # fmt: skip
        update(self, y, f"x {symbol} v")
        return self

    return method


def set_part(op):
    """The setter of an attribute that is a view, `z.real = v`: op gives the view."""

    def setter(self, v):
        part = op(self)
        a, b = getattr(part, "memory", None), getattr(v, "memory", None)
        if a is None:
            raise MutationError(f"item assignment: the imaginary part of {shown(self)} cannot be written; make it complex")
        if b is None or a.memory is not b.memory or a.path != b.path:  # else z.real *= v has written already
            setitem(part, Ellipsis, v)

    return setter


def is_number_like(x):
    """Return whether a layer value stands for a NumPy scalar (what indexing and reductions return), not for an array."""
    if ndim_of(x) or hasattr(x, "memory"):
        return False
    while isinstance(x, Layer):
        x = x.below
        if x is None or ndim_of(x):  # not to be seen under a trace or lanes; scalars are the rule
            return True
    return not isa(x, np.ndarray)
