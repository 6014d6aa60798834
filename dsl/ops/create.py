"""Creation of arrays. Operations without array arguments: they return arrays of the current device, as constants.

Arrays "like" another take shape, dtype and device from it (also from a layer value) and are constants too.
"""

import numpy as np

from ...dispatch import Array, Container, DTypeError, Layer, PolyadError, ShapeError, describe, tree
from ...dispatch.resolve import load_library
from ..avals import dtype_of, ndim_of, shape_of
from ..libraries import Scalar, asarray_like, bottom, creator, namespace
from .arithmetic import add, multiply, subtract
from .complex import astype
from .shape import broadcast_to, reshape, stack


def _make(name, *args, **params):
    return _numbers(name, getattr(namespace.get(), name), *args, **params)


def _numbers(name, function, *args, **params):
    """An array made by a library, its errors named; only of numbers."""
    try:
        made = function(*args, **params)
    except PolyadError:
        raise
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        kind = DTypeError if isinstance(error, TypeError) else ShapeError
        given = _given(args, params)
        said = str(error).splitlines()[0]
        raise kind(f"{name}({given}): {said}; give numbers, lengths of at least 0 and a dtype") from error
    if dtype_of(made).kind not in "biufc":
        given = _given(args, params)
        raise DTypeError(f"{name}({given}) would be an array of dtype {made.dtype}; polyad takes numbers only")
    return made


def _given(args, params):
    return ", ".join([*[_shown(a) for a in args], *[f"{k}={v!r}" for k, v in params.items() if v is not None]])


def _shown(x):
    return describe(x) if hasattr(x, "shape") else repr(x)


def zeros(shape, dtype=None):
    """Array of zeros. shape: int or tuple; dtype: float64 unless given."""
    return _make("zeros", shape, dtype=dtype)


def ones(shape, dtype=None):
    """Array of ones. shape: int or tuple; dtype: float64 unless given."""
    return _make("ones", shape, dtype=dtype)


def full(shape, value, dtype=None):
    """Array filled with a number (also a layer's, which stays followed); dtype: that of the number unless given."""
    if isinstance(value, Layer):
        return _filled(value, shape, dtype)
    return _make("full", shape, value, dtype=dtype)


def _filled(value, shape, dtype):
    y = broadcast_to(value, shape=(shape,) if hasattr(shape, "__index__") else tuple(shape))
    return y if dtype is None else astype(y, dtype=np.dtype(dtype))


def empty(shape, dtype=None):
    """Array with arbitrary contents, to be written before it is read."""
    return _make("empty", shape, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    """Numbers from start (0 if only one bound is given) up to but without stop, in steps."""
    return _make("arange", *((0, start) if stop is None else (start, stop)), step, dtype=dtype)


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    """`num` evenly spaced numbers from start to stop (included unless endpoint is false)."""
    if not isinstance(start, Layer) and not isinstance(stop, Layer):
        return _make("linspace", start, stop, num, endpoint=endpoint, dtype=dtype)
    places = creator(start if isinstance(start, Layer) else stop).linspace(0.0, 1.0, num, endpoint=endpoint)
    t = reshape(places, shape=(num, *(1,) * max(ndim_of(start), ndim_of(stop))))
    y = add(multiply(start, subtract(1.0, t)), multiply(stop, t))
    return y if dtype is None else astype(y, dtype=np.dtype(dtype))


def eye(n, m=None, k=0, dtype=None):
    """Matrix with ones on a diagonal: n rows, m columns (n unless given), k places above the main diagonal."""
    return _make("eye", n, m, k=k, dtype=dtype)


def _make_like(name, x, dtype, shape, *value):
    """By the innermost array of x. Like a number: a NumPy scalar, which mixes with the arrays of every device."""
    if not (isinstance(x, Scalar) or _is_array(x)) or dtype_of(x).kind not in "biufc":
        raise DTypeError(f"{name}_like: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
    example = bottom(x)
    dtype = dtype_of(x) if dtype is None else dtype
    shape = shape_of(x) if shape is None else shape
    if isinstance(example, Scalar):
        return _numbers(name, getattr(np, name), shape, *value, dtype=dtype)[()]
    return _numbers(name, getattr(creator(example), name), shape, *value, dtype=dtype)


def zeros_like(x, dtype=None, shape=None):
    """Zeros on x's device, of its dtype and shape unless others are given; of x's type if that is a linear array
    type."""
    if type(x) is np.ndarray and shape is None and x.dtype.kind != "O":  # the common case, without a question
        return np.zeros(x.shape, x.dtype) if dtype is None else _make_like("zeros", x, dtype, None)
    if isinstance(x, Container) and x.linear and shape is None:
        y = tree.map(zeros_like, x)
        return y if dtype is None else astype(y, dtype=np.dtype(dtype))
    return _make_like("zeros", x, dtype, shape)


def ones_like(x, dtype=None, shape=None):
    """Ones on x's device, of its dtype and shape unless others are given."""
    return _make_like("ones", x, dtype, shape)


def full_like(x, value, dtype=None, shape=None):
    """An array filled with a number, on x's device, of its dtype and shape unless others are given."""
    if isinstance(value, Layer):
        return _filled(value, shape_of(x) if shape is None else shape, dtype_of(x) if dtype is None else dtype)
    return _make_like("full", x, dtype, shape, value)


def beside(x, example):
    """x; but a number, under whatever layers, as an array of no axes where `example` lies, to take a shape there."""
    if not isinstance(bottom(x), Scalar) or creator(example) is np:
        return x
    return multiply(x, ones_like(example, dtype_of(x), ()))


def eye_like(x, n, dtype=None):
    """Identity matrix of n rows on x's device, of its dtype unless given."""
    return creator(x).eye(n, dtype=dtype_of(x) if dtype is None else dtype)


def arange_like(x, n):
    """The integers below n, on x's device."""
    return creator(x).arange(n)


def asarray(x, dtype=None):
    """x as an array: numbers and nested lists become one, arrays and layer values stay (converted to `dtype` if given).

    Lists that hold layer values are stacked. Raises DTypeError for what would be an array of objects.
    """
    if isinstance(x, (list, tuple)):
        example = _array_within(x)
        if example is not None:
            x = stack(_parts_like(x, example))
    if _is_array(x) and dtype_of(x).kind in "biufc":
        return x if dtype is None or dtype_of(x) == np.dtype(dtype) else astype(x, dtype=np.dtype(dtype))
    try:
        made = namespace.get().asarray(x, dtype=dtype)
        kind = dtype_of(made).kind
    except (ValueError, TypeError) as error:
        raise DTypeError(f"asarray: {describe(x)} is no regular array of numbers: {error}") from None
    if kind not in "biufc":
        raise DTypeError(f"asarray: {describe(x)} would become an array of {made.dtype}; polyad takes numbers only")
    return made


def _is_array(x):
    """Layer values, containers and arrays of any library, but not numbers."""
    if isinstance(x, Scalar) or type(x) in (list, tuple, str, bytes, dict, set, range):
        return False
    load_library((type(x),))
    return isinstance(x, Array)


def _array_within(x):
    """The first array in nested lists that NumPy would not take in by itself, or None."""
    for part in x:
        found = _array_within(part) if isinstance(part, (list, tuple)) else part
        if found is not None and not isinstance(found, np.ndarray) and _is_array(found):
            return found
    return None


def _parts_like(x, example):
    """Nested lists as arrays to be stacked, numbers on the device of the example."""
    return [
        part if _is_array(part) else stack(_parts_like(part, example)) if isinstance(part, (list, tuple))
        else asarray_like(part, example)
        for part in x
    ]  # fmt: skip


array = asarray
