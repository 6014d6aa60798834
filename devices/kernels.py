"""What the kernels of all array libraries share: explained errors, signatures, and the installation for every card.

A kernel is "the library's function of the operation's name"; what no library function does, or does with other
parameters, is written once here for a NumPy-like library `xp`. A library of its own class is installed by three calls:

    Mine = operand(mine.ndarray)                      # its arrays, and the numbers that mix with them
    install_kernels(mine, Mine)                       # a kernel for every card that `mine` has a function for
    polyad.register_device_of(mine.ndarray, ask)      # or register_kind, if the class says all
"""

import functools
import math

import numpy as np

from ..dispatch import AxisError, DTypeError, HostArray, LinAlgError, PolyadError, ShapeError, describe, isa
from ..dispatch.arrays import Array, ArrayMeta
from ..dsl import operations
from ..dsl.array_libraries import Scalar
from ..dsl.avals import shape_of
from ..dsl.ops.indexing import join_index, result_aval
from .order import order_kernels

OBJECT = np.dtype("O")
NO_NUMBERS = "OSUTVMm"  # kinds of dtypes: objects, bytes, text, records, dates, times


# ---------------------------------------------------------------------- one kernel
def kernel(op, function, library, raw=None):
    """A kernel around a library's function: errors explained, no arrays of objects.

    library: its name, for messages. raw: a ufunc that the operation's entry may call by itself.
    """
    name, sequence = op.__name__, op.generic.sequence
    if getattr(function, "explains", False):  # its errors itself
        return function

    def run(*args, **params):
        try:
            if sequence:
                y = function(args, **params)
            else:
                y = function(*args, **params) if params else function(*args)
        except PolyadError:
            raise
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise explained(name, error, args, params) from error
        try:
            suspect = y.dtype.kind not in "fiuc"
        except AttributeError:  # several results, an object out of an array, or a library with dtypes of its own
            suspect = True
        if suspect and holds_objects(y, args):
            raise objects(name, args)
        return y

    run.__name__ = run.__qualname__ = f"{name}_{library}"
    run.__wrapped__ = function
    if raw is not None:
        run.raw = raw
    run.library_function = function
    return run


def holds_objects(y, args):
    """Return whether a result or an argument is an array of objects, text or dates (a comparison of them is boolean)."""
    for x in (y, *args):
        try:
            if x.dtype.kind in NO_NUMBERS:
                return True
        except AttributeError:  # a number, several results, or a library with dtypes of its own
            pass
    return False


def objects(name, args):
    """The error for arrays of Python objects."""
    kinds = {getattr(getattr(x, "dtype", None), "kind", "b") for x in args} & set(NO_NUMBERS)
    what = "text, dates or records" if kinds and "O" not in kinds else "objects"
    return DTypeError(
        f"{name}({', '.join(describe(x) for x in args)}): arrays of {what} are not supported; convert to numbers with "
        "x.astype(float), or stack arrays with polyad.stack"
    )


def explained(name, error, args, params):
    """A library's error with the operation, the types, shapes and parameters."""
    if any(getattr(x, "dtype", None) is OBJECT for x in args):
        return objects(name, args)
    given = ", ".join([*[describe(x) for x in args], *[f"{k}={v!r}" for k, v in params.items() if v is not None]])
    if isinstance(error, np.linalg.LinAlgError) and not any(word in str(error) for word in ("square", "dimension")):
        endless = any(word in str(error) for word in ("converge", "NaN"))  # then pinv and lstsq find no more
        advice = "look at isfinite" if endless else "look at linalg.cond and isfinite, or use linalg.pinv or linalg.lstsq"
        return LinAlgError(f"{name}({given}): {error}; {advice}")
    outside = isinstance(error, np.exceptions.AxisError)
    of_shape = isinstance(error, (ValueError, IndexError)) and "Integers to negative" not in str(error)
    kind = AxisError if outside else ShapeError if of_shape else DTypeError
    text = (str(error).splitlines() or [type(error).__name__])[0]
    if isinstance(error, IndexError) and not outside:
        return IndexError(f"{name}({given}): {text}; check the index against .shape")
    advice = "check the shapes with .shape" if issubclass(kind, ShapeError) else "convert with .astype or polyad.asarray"
    return kind(f"{name}({given}): {text}; {advice}")


# ---------------------------------------------------------------------- functions that libraries lack
def common_kernels(xp):
    """name -> function, for operations that are no function of a NumPy-like library `xp`, or one with other
    parameters."""

    def astype(x, dtype, copy=True, device=None):
        if device is not None:
            return operations["to_device"](astype(x, dtype, copy), device=device)
        if not copy and getattr(x, "dtype", None) == dtype:
            return x
        x, dtype = xp.asarray(x), np.dtype(dtype)
        return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)[()]

    def transpose(x, axes=None):  # the method, since the function takes ten times as long
        return x.transpose(axes) if hasattr(x, "transpose") else xp.transpose(x, axes)

    def with_slopes_of(y, x):
        y = stop_gradient(y)
        return y if y.shape == np.shape(x) else xp.broadcast_to(y, np.broadcast_shapes(y.shape, np.shape(x)))

    def stop_gradient(x):
        return xp.asarray(x)[()] if isa(x, (bool, int, float, complex)) else x

    def reshape(x, shape, copy=None):
        return xp.reshape(x, shape) if copy is None else _reshaped(xp, x, shape, copy)

    def concatenate(arrays, axis=0):
        return xp.concatenate([xp.asarray(x) for x in arrays], axis=axis)

    def index(x, *arrays, spec):
        try:
            y = (x if type(x) is xp.ndarray else xp.asarray(x))[join_index(spec, arrays)]
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise explained("index", error, (x, *arrays), {"spec": spec}) from error
        if getattr(y, "dtype", OBJECT).kind in NO_NUMBERS:
            raise objects("index", (x, *arrays))
        return y

    index.explains = True

    def index_set(x, v, *arrays, spec):
        y = xp.array(x)
        y[join_index(spec, arrays)] = v
        return y

    def index_add(x, v, *arrays, spec):
        y = xp.array(x)
        if arrays:
            xp.add.at(y, join_index(spec, arrays), v)
        else:
            y[join_index(spec, arrays)] += v
        return y

    own = (astype, stop_gradient, with_slopes_of, transpose, reshape, concatenate, index, index_set, index_add)
    return {**{f.__name__: f for f in own}, **order_kernels(xp)}


def _reshaped(xp, x, shape, copy):
    """x in another shape, with a copy in any case or in none."""
    y = xp.reshape(x, shape)
    if copy:
        return xp.array(y)
    if y.size and not xp.may_share_memory(x, y):
        raise ValueError("the shape needs a copy, and copy=False forbids one")
    return y


def small_broadcast(xp):
    """`broadcast_to` for a library on the host: a small copy costs less than making a view of repeated elements."""

    def general(x, shape):
        shape = shape if type(shape) is tuple else (shape,) if isa(shape, (int, np.integer)) else tuple(shape)
        x = xp.asarray(x)
        if math.prod(shape) > 4096:
            return xp.broadcast_to(x, shape) if x.ndim or x.dtype.hasobject else _repeated(x, shape)
        y = xp.empty(shape, x.dtype)
        if x.ndim > y.ndim:  # which the assignment would take where the further axes have length 1
            raise ValueError(f"cannot be broadcast to {list(y.shape)}")
        y[...] = x
        return y

    explaining = kernel(operations["broadcast_to"], general, xp.__name__)

    def broadcast_to(x, shape):
        if type(x) is np.float64 and type(shape) is tuple:  # hot: the cotangent of a sum
            try:
                if math.prod(shape) <= 4096:
                    y = xp.empty(shape)
                    y.fill(x)
                    return y
            except (ValueError, TypeError):
                pass
        return explaining(x, shape=shape)

    broadcast_to.explains = True
    return broadcast_to


def _repeated(x, shape):
    """A read-only view of a NumPy array without axes in this shape; the library's own function takes ten times as long."""
    y = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    y.setflags(write=False)
    return y


def unordered_writes(xp):
    """`index_set` and `index_add` for a library that writes at repeated positions in no particular order, atomically,
    and has its atomics for 32-bit, unsigned 64-bit and floating numbers only (CuPy)."""

    def index_set(x, v, *arrays, spec):
        y, where = xp.array(x), join_index(spec, arrays)
        if arrays:  # every writer of a position writes what the last of them would: then the order does not matter
            shape = result_aval(x, arrays, spec).shape
            numbers = xp.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.uint64).reshape(shape)
            last = xp.zeros(shape_of(x), np.uint64)
            xp.maximum.at(last, where, numbers)
            v = xp.broadcast_to(xp.asarray(v), shape).reshape(-1)[last[where].astype(np.int64)]
        y[where] = v
        return y

    def index_add(x, v, *arrays, spec):
        y, where = xp.array(x), join_index(spec, arrays)
        if not arrays:
            y[where] += v
            return y
        if y.dtype.kind == "c":
            parts = [index_add(part(x), part(v), *arrays, spec=spec) for part in (xp.real, xp.imag)]
            return (parts[0] + 1j * parts[1]).astype(y.dtype)
        wide = y.astype(np.uint64) if y.dtype.kind in "iu" else y  # sums are right modulo 2**64, hence in the narrower type
        xp.add.at(wide, where, xp.asarray(v).astype(wide.dtype))
        return wide.astype(y.dtype)

    return {"index_set": index_set, "index_add": index_add}


# ---------------------------------------------------------------------- a library
@functools.cache
def operand(array_class):
    """A class for annotations: arrays of `array_class`, and the numbers and NumPy scalars that mix with them.

    Methods for it take part beside those of other libraries without ambiguity: numbers alone stay on the host. NumPy
    arrays are not among them, so that mixing the two libraries is an error that names the devices.
    """
    made = ArrayMeta(f"{array_class.__name__}_or_number", (), {"__module__": array_class.__module__})
    made.register(array_class)
    made.register(Scalar)
    for number in Scalar.members:
        made.register(number)
    Array.register(array_class)
    Array.register(made)  # the class itself, so that a method for it goes before one for Array
    _keep_numbers_on_host()
    return made


_numbers_kept = set()


def _keep_numbers_on_host():
    """For calls of numbers only: NumPy's kernels under a signature narrower than that of any library."""
    for op in operations.values():
        generic = op.generic
        if generic in _numbers_kept:
            continue
        types, varargs = signature(op, HostArray)
        slot = generic.slots.get((types, varargs))
        if slot is not None and None in slot.methods:
            _numbers_kept.add(generic)
            generic.add(slot.methods[None].implementation, *signature(op, Scalar))


def signature(op, cls):
    """The types and varargs of a kernel all of whose arrays are `cls`."""
    if op.generic.sequence:
        return (), cls
    return (cls,) * len(op.generic.arrays), cls if op.generic.variadic else None


def member(xp, name):
    """The library's function of this name, which may be dotted (`fft.fft`), or None."""
    for part in name.split("."):
        xp = getattr(xp, part, None)
    return xp


def install_kernels(xp, cls, exceptions=None, *, kind=None, names=None, around=None):
    """Register a kernel for every card that the library has a function for; composite operations run their body, unless
    there is an exception for them.

    xp: the library's module (or any object with functions of NumPy's names). cls: class of all array arguments, from
    `operand`. exceptions: operation -> function, instead of the library's function of that name. kind: device kind, if
    the kernels are for one only. names: NumPy's name -> the library's name, where they differ. around:
    function(kernel) -> kernel, applied to each. Returns the names of the operations for which there is no kernel.
    """
    exceptions, names, library = (
        exceptions or {},
        names or {},
        getattr(xp, "__name__", type(xp).__name__).rpartition(".")[2],
    )
    missing = []
    for name, op in operations.items():
        card = op.card
        if card.body is not None and name not in exceptions:
            continue
        function = exceptions.get(name) or (card.kernel and member(xp, names.get(card.kernel, card.kernel)))
        if function is None:
            missing.append(name)
            continue
        made = kernel(op, function, library, function if isinstance(function, np.ufunc) else None)
        op.generic.add(around(made) if around else made, *signature(op, cls), kind)
    return missing
