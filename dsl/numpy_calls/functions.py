"""NumPy's functions that are no operations of ours but follow from them: creation, questions about types, text, indices."""

from typing import Any, cast

import numpy as np

from ...dispatch import Array, Layer, innermost_run, snapshot
from ..avals import dtype_of, ndim_of, shape_of
from ..card import operations
from ..dtypes import result_type
from ..ops import create, einsum, joining, sampled, search, selection, several
from ..ops.arithmetic import multiply, trunc
from ..ops.exponential import exp, log, power
from ..ops.shape import reshape
from . import array_methods, creation
from .assignment import update


def _like(make):
    """zeros_like and its kin."""

    def like(a, *args, dtype=None, order="K", subok=True, shape=None, device=None):
        shape = (shape,) if hasattr(shape, "__index__") else shape
        return make(a, *args, dtype=dtype, shape=shape)

    return like


def _made_like(name):
    """`np.zeros(3, like=x)`: NumPy hands over what it is called with, x aside."""
    make = getattr(np, name)

    def made(*args, order="C", device=None, **kwargs):
        if any(isinstance(a, Layer) for a in (*args, *kwargs.values())):  # np.full(3, x, like=x)
            return getattr(creation, name)(*args, **kwargs)
        y = create.asarray(make(*args, **kwargs))
        run = innermost_run()
        return y if run is None else run.constant(y)

    return made


def _as_array(x, dtype=None, order=None, *, copy=None, device=None, **rest):
    """np.asarray(x, like=x) and its kin."""
    y = create.asarray(x, dtype=dtype)
    return y.copy() if copy and y is x else y


def _array(x, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    y = create.asarray(x, dtype=dtype)
    y = y.copy() if copy and y is x else y
    return reshape(y, shape=(*(1,) * (ndmin - ndim_of(y)), *shape_of(y)))


def _meshgrid(*xs, copy=True, sparse=False, indexing="xy"):
    grid = several.meshgrid(*xs, indexing=indexing, sparse=sparse)
    return tuple([snapshot(x) for x in grid]) if copy else grid


def _list_of_parts(split):
    """np.split and its kin: NumPy gives a list."""
    return lambda ary, indices_or_sections, *axis, **named: list(split(ary, indices_or_sections, *axis, **named))


def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    y = operations["nan_to_num"](x, nan=nan, posinf=posinf, neginf=neginf)
    if copy:
        return y
    update(x, y, "np.nan_to_num(copy=False)")
    return x


def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    y = power(base, create.linspace(start, stop, num, endpoint=endpoint))
    y = y if dtype is None else y.astype(dtype)
    return y if axis in (0, -ndim_of(y)) else operations["moveaxis"](y, 0, axis)


def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    ratio = create.linspace(0.0, log(stop / start), num, endpoint=endpoint)
    y = multiply(start, exp(ratio))
    y = y if dtype is None else y.astype(dtype)
    return y if axis in (0, -ndim_of(y)) else operations["moveaxis"](y, 0, axis)


def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    y = create.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    y = y if axis in (0, -ndim_of(y)) else operations["moveaxis"](y, 0, axis)
    return (y, (stop - start) / (num - bool(endpoint))) if retstep else y


def _einsum(*operands, optimize="auto", order="K", casting="safe"):
    subscripts, *xs = operands
    if not isinstance(subscripts, str):
        subscripts, xs = einsum.from_lists(operands)
    return einsum.einsum(subscripts, *[create.asarray(x) for x in xs], optimize=optimize)


def _where(condition, *branches):
    """np.where of three arrays; of one, the places where it is true."""
    if not branches:
        return search.nonzero(condition)
    return operations["where"](*[create.asarray(x) if isinstance(x, (list, tuple)) else x for x in (condition, *branches)])


def _common_type(*xs):
    return np.common_type(*[np.empty(0, dtype_of(x)) for x in xs])


def _min_scalar_type(a):
    return dtype_of(a) if ndim_of(a) else np.min_scalar_type(a.concrete()[()])


def _can_cast(from_, to, casting="safe"):
    return np.can_cast(dtype_of(from_) if isinstance(from_, Array) else from_, np.dtype(to), cast("Any", casting))


def _unravel_index(indices, shape, order="C"):
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return tuple([indices // step % n for step, n in zip(strides, shape, strict=True)])


def _ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    flat = 0
    for i, n in zip(multi_index, dims, strict=True):
        flat = flat * n + i
    return flat


def _of_shape(function):
    """Functions of an array's shape alone."""
    return lambda arr, *args, **kwargs: function(np.empty(shape_of(arr), bool), *args, **kwargs)


MAKERS = ("zeros", "ones", "empty", "full", "eye", "identity", "tri", "arange")
ANSWERS = {
    "reshape": array_methods.reshape,
    "ravel": array_methods.ravel,
    "take": array_methods.take,
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: dtype_of(x).kind == "c",
    "isrealobj": lambda x: dtype_of(x).kind != "c",
    "result_type": result_type,
    "common_type": _common_type,
    "min_scalar_type": _min_scalar_type,
    "can_cast": _can_cast,
    "copy": lambda a, order="K", subok=False: a.copy(),
    "array": _array,
    "asarray": _as_array,
    "asanyarray": _as_array,
    "ascontiguousarray": _as_array,
    "asfortranarray": _as_array,
    "require": lambda a, dtype=None, requirements=None: _as_array(a, dtype),
    "zeros_like": _like(creation.zeros_like),
    "ones_like": _like(creation.ones_like),
    "empty_like": _like(creation.empty_like),
    "full_like": _like(creation.full_like),
    "linspace": _linspace,
    "logspace": _logspace,
    "geomspace": _geomspace,
    "broadcast_arrays": lambda *xs, subok=False: several.broadcast_arrays(*xs),
    "meshgrid": _meshgrid,
    "unstack": lambda x, /, *, axis=0: several.unstack(x, axis=axis),
    **{
        f.__name__: _list_of_parts(f)
        for f in (joining.split, joining.array_split, joining.hsplit, joining.vsplit, joining.dsplit)
    },
    "fix": trunc,
    "einsum": _einsum,
    "where": _where,
    "choose": lambda a, choices, mode="raise": selection.choose(create.asarray(a), choices, mode=mode),
    "gradient": sampled.gradient,
    **{
        f.__name__: f
        for f in (
            joining.atleast_1d,
            joining.atleast_2d,
            joining.atleast_3d,
            joining.block,
            selection.select,
            selection.piecewise,
            selection.allclose,
            selection.array_equal,
            selection.array_equiv,
        )
    },
    "nan_to_num": _nan_to_num,
    "array_repr": lambda arr, *args, **options: repr(arr),
    "array_str": lambda a, *args, **options: str(a),
    "array2string": lambda a, *args, **options: str(a),
    "unravel_index": _unravel_index,
    "ravel_multi_index": _ravel_multi_index,
    "diag_indices_from": _of_shape(np.diag_indices_from),
    "tril_indices_from": _of_shape(np.tril_indices_from),
    "triu_indices_from": _of_shape(np.triu_indices_from),
    **{name: _made_like(name) for name in MAKERS},
}
