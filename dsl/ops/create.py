"""Creation of arrays. Operations without array arguments: they return arrays of the current device, as constants.

Arrays "like" another take shape, dtype and device from it (also from a layer value) and are constants too. `device=` names
another device for one call: "cpu", "cuda:1", or what an array says of itself by `x.device`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import (
    Array,
    Container,
    DensifyError,
    DeviceMismatchError,
    DTypeError,
    Layer,
    PolyadError,
    ShapeError,
    describe,
    isa,
)
from ...dispatch.containers import rebuild
from ...dispatch.resolve import load_library
from ..array_libraries import Scalar, asarray_like, bottom, creator, namespace
from ..avals import UNKNOWN, dtype_of, ndim_of, shape_of
from ..card import operations
from ..placement import new_arrays
from .arithmetic import add, multiply, subtract
from .complex import astype
from .shape import broadcast_to, reshape, stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dispatch.annotations import AnyArray


def _make(name, *args, device=None, **params):
    return _only_numbers(name, getattr(_creator_on(device), name), *args, **params)


def _creator_on(device):
    """The creation functions of a device; None: the current one."""
    if device is None:
        return new_arrays.get() or namespace.get()
    if isinstance(device, Array):
        raise DeviceMismatchError(f"device={describe(device)} is no device; write its name, such as 'cpu', or x.device")
    return creator(device)


def _only_numbers(name, function, *args, **params):
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
    return ", ".join([*[_described(a) for a in args], *[f"{k}={v!r}" for k, v in params.items() if v is not None]])


def _described(x):
    return describe(x) if hasattr(x, "shape") else repr(x)


def zeros(shape: int | Sequence[int], dtype: Any = None, device: Any = None) -> AnyArray:
    """Array of zeros. shape: int or tuple; dtype: float64 unless given."""
    return _make("zeros", shape, dtype=dtype, device=device)


def ones(shape: int | Sequence[int], dtype: Any = None, device: Any = None) -> AnyArray:
    """Array of ones. shape: int or tuple; dtype: float64 unless given."""
    return _make("ones", shape, dtype=dtype, device=device)


def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None, device: Any = None) -> AnyArray:
    """Array filled with a number (also a layer's, which stays followed); dtype: that of the number unless given."""
    if isinstance(fill_value, (Layer, Container)):
        return _on_device(_filled(fill_value, shape, dtype), device)
    return _make("full", shape, fill_value, dtype=dtype, device=device)


def _on_device(x, device):
    """x on a device; None: where it is."""
    return x if device is None else operations["to_device"](x, device=device)


def _filled(value, shape, dtype):
    y = broadcast_to(value, shape=(shape,) if hasattr(shape, "__index__") else tuple(shape))
    return y if dtype is None else astype(y, dtype=np.dtype(dtype))


def empty(shape: int | Sequence[int], dtype: Any = None, device: Any = None) -> AnyArray:
    """Array with arbitrary contents, to be written before it is read."""
    return _make("empty", shape, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, device: Any = None) -> AnyArray:
    """Numbers from start (0 if only one bound is given) up to but without stop, in steps."""
    return _make("arange", *((0, start) if stop is None else (start, stop)), step, dtype=dtype, device=device)


def linspace(start: Any, stop: Any, /, num: int = 50, endpoint: bool = True, dtype: Any = None, device: Any = None) -> AnyArray:
    """`num` evenly spaced numbers from start to stop (included unless endpoint is false)."""
    if not isinstance(start, (Layer, Container)) and not isinstance(stop, (Layer, Container)):
        return _make("linspace", start, stop, num, endpoint=endpoint, dtype=dtype, device=device)
    places = creator(start if isinstance(start, (Layer, Container)) else stop).linspace(0.0, 1.0, num, endpoint=endpoint)
    t = reshape(places, shape=(num, *(1,) * max(ndim_of(start), ndim_of(stop))))
    y = _on_device(add(multiply(start, subtract(1.0, t)), multiply(stop, t)), device)
    return y if dtype is None else astype(y, dtype=np.dtype(dtype))


def eye(n: int, m: int | None = None, /, k: int = 0, dtype: Any = None, device: Any = None) -> AnyArray:
    """Matrix with ones on a diagonal: n rows, m columns (n unless given), k places above the main diagonal."""
    return _make("eye", n, m, k=k, dtype=dtype, device=device)


def _make_like(name, x, dtype, shape, *value, device=None) -> Any:
    """By the innermost array of x. Like a number: a NumPy scalar, which mixes with the arrays of every device."""
    if not (isinstance(x, Scalar) or _is_library_array(x)) or dtype_of(x).kind not in "biufc":
        raise DTypeError(f"{name}_like: {describe(x)} is not an array of numbers; convert it with polyad.asarray")
    if shape is None and isinstance(x, Layer) and UNKNOWN in shape_of(x):
        return operations["uniform"](x, value=value[0] if value else name == "ones", dtype=dtype)
    if isinstance(x, Container) and not x.densifies:
        raise DensifyError(
            f"{name}_like: {describe(x)} has no dense form, and nothing says which array of its type is meant; make one from "
            f"its leaves ({', '.join(f'x.{leaf}' for leaf in x.leaves)})"
        )
    example = bottom(x)
    dtype = dtype_of(x) if dtype is None else dtype
    shape = shape_of(x) if shape is None else shape
    if device is not None:
        return _make(name, shape, *value, dtype=dtype, device=device)
    if isinstance(example, Scalar):
        return _only_numbers(name, getattr(np, name), shape, *value, dtype=dtype)[()]
    return _only_numbers(name, getattr(creator(example), name), shape, *value, dtype=dtype)


def zeros_like(x: Any, /, dtype: Any = None, shape: Any = None, device: Any = None) -> AnyArray:
    """Zeros on x's device, of its dtype and shape unless others are given; of x's type if that is a linear array
    type."""
    if type(x) is np.ndarray and shape is None and device is None and x.dtype.kind != "O":  # the common case, unasked
        return np.zeros(x.shape, x.dtype) if dtype is None else _make_like("zeros", x, dtype, None)  # type: ignore[return-value]
    if isinstance(x, Container) and x.linear and shape is None:
        leaves = [zeros_like(getattr(x, name), device=device) for name in x.leaves]
        y: Any = rebuild(type(x), leaves, x._statics())
        return y if dtype is None else astype(y, dtype=np.dtype(dtype))
    return _make_like("zeros", x, dtype, shape, device=device)


def ones_like(x: Any, /, dtype: Any = None, shape: Any = None, device: Any = None) -> AnyArray:
    """Ones on x's device, of its dtype and shape unless others are given."""
    return _make_like("ones", x, dtype, shape, device=device)


def empty_like(x: Any, /, dtype: Any = None, shape: Any = None, device: Any = None) -> AnyArray:
    """An array of arbitrary contents on x's device, of its dtype and shape unless others are given."""
    return _make_like("empty", x, dtype, shape, device=device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> AnyArray:
    """An array filled with a number, on x's device, of its dtype and shape unless others are given."""
    if isinstance(fill_value, (Layer, Container)):
        shape, dtype = shape_of(x) if shape is None else shape, dtype_of(x) if dtype is None else dtype
        return _on_device(_filled(fill_value, shape, dtype), device)
    return _make_like("full", x, dtype, shape, fill_value, device=device)


def beside(x, example):
    """x; but a number, under whatever layers, as an array of no axes where `example` lies, to take a shape there."""
    if not isinstance(bottom(x), Scalar) or creator(example) is np:
        return x
    return multiply(x, ones_like(example, dtype_of(x), ()))


def eye_like(x, n, dtype=None) -> AnyArray:
    """Identity matrix of n rows on x's device, of its dtype unless given."""
    return creator(x).eye(n, dtype=dtype_of(x) if dtype is None else dtype)


def arange_like(x, n) -> AnyArray:
    """The integers below n, on x's device."""
    return creator(x).arange(n)


def asarray(x: Any, /, dtype: Any = None, device: Any = None, copy: bool | None = None) -> AnyArray:
    """x as an array: numbers and nested lists become one, arrays and layer values stay (converted to `dtype` if given).

    Lists that hold layer values are stacked. device: where the result lies, by default where x does. copy: True for a
    copy in any case, False to refuse one (ValueError), None for one where it is needed.
    Raises DTypeError for what would be an array of objects.
    """
    x = _stacked(x) if isinstance(x, (list, tuple)) else x
    if _is_library_array(x) and dtype_of(x).kind in "biufc":
        y = x if dtype is None or dtype_of(x) == np.dtype(dtype) else _whole(astype(x, dtype=np.dtype(dtype)))
        y = _on_device(y, device)
        return y if copy is None else _copied(x, y, copy)  # type: ignore[return-value]
    if copy is False and not hasattr(x, "__buffer__") and not isinstance(x, memoryview):
        raise ValueError(f"asarray: {describe(x)} cannot become an array without a copy; leave out copy=False")
    try:
        made = _creator_on(device).asarray(x, dtype=dtype)
        kind = dtype_of(made).kind
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, PolyadError):
            raise
        raise DTypeError(f"asarray: {describe(x)} is no regular array of numbers: {error}") from None
    if kind not in "biufc":
        raise DTypeError(f"asarray: {describe(x)} would become an array of {made.dtype}; polyad takes numbers only")
    return made.copy() if copy else made  # type: ignore[return-value]


def _whole(x) -> Any:
    """x as an array, where it is a number because it has no axes."""
    return np.asarray(x) if isinstance(x, Scalar) else x


def _copied(x, y, copy) -> Any:
    """y, made of x, as `copy=` asks for it."""
    if copy:
        return y if y is not x else x.copy()
    if y is not x:
        raise ValueError(f"asarray: {describe(x)} would have to be copied to become {describe(y)}; leave out copy=False")
    return y


def from_dlpack(x: Any, /, device: Any = None, copy: bool | None = None) -> AnyArray:
    """An array that shares the memory of another library's array, by the DLPack protocol.

    x: object with `__dlpack__` and `__dlpack_device__` on the host or a CUDA device. device: where the result lies, by
    default where x does. copy: True for a copy in any case, False to refuse one, None for one where it is needed.
    Raises DTypeError for objects without the protocol and dtypes that are no numbers, BufferError where x refuses.
    """
    if not hasattr(x, "__dlpack_device__"):
        raise DTypeError(f"from_dlpack: {describe(x)} has no __dlpack__; use polyad.asarray")
    kind, number = x.__dlpack_device__()
    own = {1: "cpu", 2: f"cuda:{number}", 3: "cpu"}.get(int(kind))
    if own is None:
        raise DTypeError(f"from_dlpack: {describe(x)} lies on a device of DLPack's kind {int(kind)}; move it to the host")
    made = creator(own).from_dlpack(x)
    if dtype_of(made).kind not in "biufc":
        raise DTypeError(f"from_dlpack: {describe(x)} holds no numbers")
    y = _on_device(made, device)
    return y if copy is None else _copied(made, y, copy)


def _is_library_array(x):
    """Layer values, containers and arrays of any library, but not numbers."""
    if isinstance(x, Scalar) or type(x) in (list, tuple, str, bytes, dict, set, range):
        return False
    load_library((type(x),))
    return isinstance(x, Array)


def _stacked(x) -> Any:
    """Nested lists as an array, where one of its parts is an array that NumPy would not take in by itself; else x."""
    example = _array_within(x)
    return x if example is None else stack(_parts_like(x, example))


def _array_within(x):
    """The first array in nested lists that NumPy would not take in by itself, or None."""
    for part in x:
        found = _array_within(part) if isinstance(part, (list, tuple)) else part
        if found is not None and not isa(found, np.ndarray) and _is_library_array(found):
            return found
    return None


def _parts_like(x, example):
    """Nested lists as arrays to be stacked, numbers on the device of the example."""
    return [
        part if _is_library_array(part) else stack(_parts_like(part, example)) if isinstance(part, (list, tuple))
        else asarray_like(part, example)
        for part in x
    ]  # fmt: skip


array = asarray
