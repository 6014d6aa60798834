"""NumPy's kernels: each card's operation is NumPy's function of the same name, with the exceptions listed here.

Kernels explain NumPy's errors (operation, types, shapes, next step) and refuse arrays of objects.
"""

import numpy as np

from ..dispatch import DTypeError, HostArray, PolyadError, ShapeError, describe
from ..dsl import operations
from ..dsl.ops.indexing import join_index

OBJECT = np.dtype("O")


def kernel(op, function, raw=None):
    """A kernel around a library's function: errors explained, no arrays of objects. raw: a ufunc the entry may call."""
    name, sequence = op.__name__, op.generic.sequence

    def run(*args, **params):
        try:
            y = function(args, **params) if sequence else function(*args, **params)
        except PolyadError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise explained(name, error, args, params) from error
        if getattr(y, "dtype", None) is OBJECT or any(getattr(x, "dtype", None) is OBJECT for x in args):
            raise objects(name, args)
        return y

    run.__name__ = run.__qualname__ = f"{name}_numpy"
    run.raw = raw
    run.library_function = function
    return run


def objects(name, args):
    """The error for arrays of Python objects."""
    return DTypeError(
        f"{name}({', '.join(describe(x) for x in args)}): arrays of objects are not supported; convert to numbers with "
        "x.astype(float), or stack arrays with polyad.stack"
    )


def explained(name, error, args, params):
    """A library's error with the operation, the types, shapes and parameters."""
    if any(getattr(x, "dtype", None) is OBJECT for x in args):
        return objects(name, args)
    given = ", ".join([*[describe(x) for x in args], *[f"{k}={v!r}" for k, v in params.items() if v is not None]])
    kind = ShapeError if isinstance(error, (ValueError, IndexError)) else DTypeError
    if isinstance(error, IndexError) and not isinstance(error, np.exceptions.AxisError):
        return IndexError(f"{name}({given}): {error}")
    advice = "check the shapes with .shape" if kind is ShapeError else "convert with .astype or polyad.asarray"
    return kind(f"{name}({given}): {str(error).splitlines()[0]}; {advice}")


# ---------------------------------------------------------------------- exceptions to "NumPy's function of that name"
def astype_numpy(x, dtype):
    x = np.asarray(x)
    dtype = np.dtype(dtype)
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)[()]


def stop_gradient_numpy(x):
    return x


def index_numpy(x, *arrays, spec):
    return np.asarray(x)[join_index(spec, arrays)]


def index_set_numpy(x, v, *arrays, spec):
    y = np.array(x)
    y[join_index(spec, arrays)] = v
    return y


def index_add_numpy(x, v, *arrays, spec):
    y = np.array(x)
    if arrays:
        np.add.at(y, join_index(spec, arrays), v)
    else:
        y[join_index(spec, arrays)] += v
    return y


def reshape_numpy(x, shape):
    return np.reshape(x, shape)


def sum_numpy(x, axis=None, dtype=None, keepdims=False):
    return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def max_numpy(x, axis=None, keepdims=False):
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min_numpy(x, axis=None, keepdims=False):
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def all_numpy(x, axis=None, keepdims=False):
    return np.logical_and.reduce(x, axis=axis, keepdims=keepdims)


def any_numpy(x, axis=None, keepdims=False):
    return np.logical_or.reduce(x, axis=axis, keepdims=keepdims)


def concatenate_numpy(arrays, axis=0):
    return np.concatenate([np.asarray(x) for x in arrays], axis=axis)


EXCEPTIONS = {
    name.removesuffix("_numpy"): function for name, function in dict(globals()).items() if name.endswith("_numpy")
}


def install():
    """Give every card its NumPy kernel. Operations with a body and no function of NumPy's run their body."""
    for name, op in operations.items():
        card = op.card
        function = EXCEPTIONS.get(name) or (getattr(np, card.kernel, None) if card.kernel else None)
        if function is None or card.body is not None:
            continue
        raw = function if isinstance(function, np.ufunc) else None
        types, varargs = _signature(op)
        op.generic.add(kernel(op, function, raw), types, varargs)


def _signature(op):
    if op.generic.sequence:
        return (), HostArray
    return (HostArray,) * len(op.generic.arrays), HostArray if op.generic.variadic else None


install()
