"""NumPy's methods and functions that write into their argument, on layer values: each is a new value, rebound."""

import numpy as np

from ...dispatch import Container, Layer, MissingRuleError, MutationError, ShapeError, describe
from ...dispatch.containers import densified
from ..avals import ndim_of, shape_of
from ..card import operations
from ..ops.compare import where
from ..ops.create import asarray
from ..ops.indexing import index_add, split_index
from ..ops.shape import broadcast_to, reshape, size_of
from .assignment import repeated, setitem, update


def writable_target(name, x):
    """x, if values that a transformation follows can be written into it. Raises MutationError."""
    if isinstance(x, Layer):
        return x
    raise MutationError(
        f"{name}: a value that a transformation follows cannot be written into {describe(x)}; make the buffer with "
        "polyad.zeros(shape) or np.zeros_like of a followed value, or use polyad.at(buffer, i).set(x)"
    )


def fill(self, value):
    """Write one number everywhere."""
    setitem(self, Ellipsis, value)


def put(self, indices, values, mode="raise"):
    """Write values at positions of the flattened array, repeating them if they are too few."""
    indices, values = within(positions(indices), size_of(self), mode), asarray(values)
    flat = reshape(self, shape=(size_of(self),)).copy()
    setitem(flat, reshape(indices, shape=(size_of(indices),)), repeated(values, size_of(indices)))
    update(self, reshape(flat, shape=shape_of(self)), "put")


def positions(indices):
    """Indices as an array; a list without any is one of whole numbers."""
    none = isinstance(indices, (list, tuple)) and not indices
    return asarray(indices, dtype=np.dtype(np.intp) if none else None)


def within(indices, n, mode):
    """Indices that are out of range of n elements as NumPy's mode has them: "clip", "wrap", or "raise" for as they are."""
    if mode == "raise":
        return indices
    return operations["clip"](indices, min=0, max=n - 1) if mode == "clip" else indices % n


def sort(self, axis=-1, kind=None, order=None, **options):
    """Sort along an axis. kind: which algorithm, which the result does not show."""
    if order is not None:
        raise MissingRuleError("sort: order= is of arrays with fields")
    update(self, operations["sort"](self, axis=axis, **options), "sort")


def copyto(dst, src, casting="same_kind", where=True):
    """Write src into dst, where a mask says."""
    writable_target("np.copyto", dst)
    src = asarray(src)
    update(dst, src if where is True else _where(where, src, dst), "copyto")


def _where(mask, x, y):
    return where(asarray(mask), x, y)


def putmask(a, mask, values):
    """Write values where a mask says: the value at the same place of `values` repeated to a's size."""
    writable_target("np.putmask", a)
    values = asarray(values)
    if ndim_of(values):
        values = reshape(repeated(values, size_of(a)), shape=shape_of(a))
    update(a, _where(mask, values, a), "putmask")


def place(arr, mask, vals):
    """Write the first values in turn where a mask says."""
    writable_target("np.place", arr)
    vals = asarray(vals)
    if size_of(vals) != 1:
        positions = np.cumsum(np.asarray(mask.concrete() if isinstance(mask, Layer) else mask).ravel()) - 1
        vals = reshape(reshape(vals, shape=(size_of(vals),))[positions % size_of(vals)], shape=shape_of(arr))
    else:
        vals = reshape(vals, shape=())
    update(arr, _where(mask, vals, arr), "place")


def fill_diagonal(a, val, wrap=False):
    """Write into the main diagonal."""
    writable_target("np.fill_diagonal", a)
    if wrap or ndim_of(a) < 2:
        raise MissingRuleError("np.fill_diagonal: wrap=True, and arrays of one axis, are not offered; index instead")
    n = min(shape_of(a))
    val = asarray(val)
    setitem(a, (np.arange(n),) * ndim_of(a), repeated(val, n) if ndim_of(val) else val)


def put_along_axis(arr, indices, values, axis):
    """Write values at the positions that `take_along_axis` reads."""
    writable_target("np.put_along_axis", arr)
    indices = asarray(indices)
    if axis is None:
        put(arr, indices, broadcast_to(asarray(values), shape=shape_of(indices)))
        return
    axis %= ndim_of(arr)
    at = [
        indices if i == axis else np.arange(n).reshape(*(1,) * i, -1, *(1,) * (ndim_of(arr) - i - 1))
        for i, n in enumerate(shape_of(indices))
    ]
    setitem(arr, tuple(at), values)


def ufunc_at(name, ufunc, x, key, v=None):
    """`np.add.at(x, i, v)`: unbuffered in place."""
    writable_target(name, x)
    if ufunc not in (np.add, np.subtract):
        raise MissingRuleError(f"{name}: only np.add.at and np.subtract.at are offered; use x[i] = f(x[i], v), which "
                               "counts repeated positions once")  # fmt: skip
    v = asarray(v)
    spec, arrays = split_index(x, key)
    update(x, index_add(x, v if ufunc is np.add else -v, *arrays, spec=spec), name)


def write_out(name, out, y):
    """`out=`: y, written into a layer value."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if type(out) is np.ndarray:
        return _write_plain(name, out, y)
    if shape_of(y) != shape_of(writable_target(name, out)):
        raise ShapeError(f"{name}: out= has the shape {list(shape_of(out))}, the result {list(shape_of(y))}")
    update(out, y, name)
    return out


def _write_plain(name, out, y):
    """A result, dense, written into an array of NumPy's, as NumPy does it. Raises MutationError for one that is followed."""
    while isinstance(y, Container):
        y = densified(y, f"{name}: out=")
    if isinstance(y, Layer):
        writable_target(name, out)
    if shape_of(y) != out.shape:
        raise ShapeError(f"{name}: out= has the shape {list(out.shape)}, the result {list(shape_of(y))}")
    np.copyto(out, y, casting="same_kind")
    return out


METHODS = {"fill": fill, "put": put, "sort": sort}
FUNCTIONS = {
    "copyto": copyto, "putmask": putmask, "place": place, "put": lambda a, ind, v, mode="raise": put(
        writable_target("np.put", a), ind, v, mode), "fill_diagonal": fill_diagonal, "put_along_axis": put_along_axis,
}  # fmt: skip
