"""Creation of arrays. Operations without array arguments: they return arrays of the current device, as constants.

Arrays "like" another take shape and dtype from it (also from a layer value) and are constants too.
"""

from contextvars import ContextVar

import numpy as np

from ...dispatch import Array, DTypeError, describe
from ..avals import dtype_of, shape_of
from .shape import stack

namespace = ContextVar("polyad_namespace", default=np)  # the array library of the current device


def _make(name, *args, **params):
    return getattr(namespace.get(), name)(*args, **params)


def zeros(shape, dtype=None):
    """Array of zeros. shape: int or tuple; dtype: float64 unless given."""
    return _make("zeros", shape, dtype=dtype)


def ones(shape, dtype=None):
    """Array of ones. shape: int or tuple; dtype: float64 unless given."""
    return _make("ones", shape, dtype=dtype)


def full(shape, value, dtype=None):
    """Array filled with a number; dtype: that of the number unless given."""
    return _make("full", shape, value, dtype=dtype)


def empty(shape, dtype=None):
    """Array with arbitrary contents, to be written before it is read."""
    return _make("empty", shape, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    """Numbers from start (0 if only one bound is given) up to but without stop, in steps."""
    return _make("arange", *((0, start) if stop is None else (start, stop)), step, dtype=dtype)


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    """`num` evenly spaced numbers from start to stop (included unless endpoint is false)."""
    return _make("linspace", start, stop, num, endpoint=endpoint, dtype=dtype)


def eye(n, m=None, k=0, dtype=None):
    """Matrix with ones on a diagonal: n rows, m columns (n unless given), k places above the main diagonal."""
    return _make("eye", n, m, k=k, dtype=dtype)


def zeros_like(x, dtype=None):
    """Zeros of x's shape, and dtype unless given."""
    return zeros(shape_of(x), dtype or dtype_of(x))


def ones_like(x, dtype=None):
    """Ones of x's shape, and dtype unless given."""
    return ones(shape_of(x), dtype or dtype_of(x))


def full_like(x, value, dtype=None):
    """An array of x's shape, and dtype unless given, filled with a number."""
    return full(shape_of(x), value, dtype or dtype_of(x))


def asarray(x, dtype=None):
    """x as an array: numbers and nested lists become one, arrays and layer values stay (converted to `dtype` if given).

    Lists that hold layer values are stacked. Raises DTypeError for what would be an array of objects.
    """
    if isinstance(x, (list, tuple)) and _holds_arrays(x):
        x = stack([asarray(part) for part in x])
    if isinstance(x, Array) and not isinstance(x, (np.generic, bool, int, float, complex)):
        return x if dtype is None or dtype_of(x) == np.dtype(dtype) else x.astype(dtype)
    try:
        made = _make("asarray", x, dtype=dtype)
    except ValueError as error:
        raise DTypeError(f"asarray: {describe(x)} is no regular array of numbers: {error}") from None
    if made.dtype.kind not in "biufc":
        raise DTypeError(f"asarray: {describe(x)} would become an array of dtype {made.dtype}; polyad takes numbers only")
    return made


def _holds_arrays(x):
    return any(isinstance(p, Array) and hasattr(p, "concrete") or isinstance(p, (list, tuple)) and _holds_arrays(p) for p in x)


array = asarray
