"""The methods and options of NumPy's ufuncs on layer values: `reduce accumulate outer reduceat at`, `where=`, `initial=`.

Each is put together from operations: `where=` of a reduction lets the neutral element take the place of what is left out,
`outer` is broadcasting, `reduceat` reduces slices.
"""

import operator

import numpy as np

from ...dispatch import MissingRuleError, ShapeError
from ..avals import Aval, dtype_of, infer, ndim_of, normalize_axis, reduced_axes, shape_of
from ..card import operations
from ..control.scan import scan
from ..ops.arithmetic import divide
from ..ops.compare import where
from ..ops.complex import astype
from ..ops.create import asarray
from ..ops.indexing import getitem
from ..ops.shape import broadcast_to, concatenate, reshape, stack

UFUNC_REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all",
              np.logical_or: "any"}  # fmt: skip
ACCUMULATIONS = {np.add: "cumsum", np.multiply: "cumprod"}
NEUTRAL = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "all": True, "any": False, "nansum": 0, "nanprod": 1}
JOIN = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "nansum": "add", "nanprod": "multiply"}


def reduction(name, op, x, axis, params, mask=True, initial=np._NoValue):
    """A reduction with NumPy's `where=` and `initial=`. name: of NumPy's function, for errors."""
    own = op.__name__
    if mask is not True:
        mask = broadcast_to(asarray(mask), shape=shape_of(x))
        if own == "mean":
            return _mean(op, x, axis, params, mask)
        if own not in NEUTRAL or (own in ("max", "min") and (initial is np._NoValue or initial is None)):
            raise MissingRuleError(f"{name}: where= is not offered{' without initial=' if own in NEUTRAL else ''}; reduce "
                                   "polyad.where(mask, x, neutral) instead")  # fmt: skip
        neutral = initial if own in ("max", "min") else NEUTRAL[own]
        x = where(mask, x, np.asarray(neutral, dtype_of(x))[()])
    if initial is np._NoValue or initial is None:
        return op(x, axis=axis, **params)
    if own not in JOIN:
        raise MissingRuleError(f"{name}: initial= is not offered; combine it with the result")
    join = operations[JOIN[own]]
    if own in ("max", "min") and any(shape_of(x)[a] == 0 for a in reduced_axes(own, x, axis)):
        empty = operations["sum"](x, axis=axis, keepdims=params.get("keepdims", False))
        return where(False, empty, initial)
    y = op(x, axis=axis, **params)
    return join(y, astype(asarray(initial), dtype=dtype_of(y)))


def _mean(op, x, axis, params, mask):
    total, keep = operations["sum"], params.get("keepdims", False)
    return divide(total(where(mask, x, 0.0), axis=axis, **params), total(astype(mask, dtype=float), axis=axis, keepdims=keep))


def masked(op, xs, params, mask, out, name):
    """`where=` of an elementwise ufunc: what it leaves out keeps the value of `out`."""
    if out is None:
        raise MissingRuleError(f"{name}: the parameter where= without out= leaves elements without a value; use "
                               "polyad.where(mask, y, otherwise)")  # fmt: skip
    return where(asarray(mask), op(*xs, **params), out)


def accumulate(name, op, ufunc, x, axis=0, dtype=None):
    """`ufunc.accumulate`. op: the operation for the ufunc, or None."""
    if ufunc in ACCUMULATIONS:
        return operations[ACCUMULATIONS[ufunc]](x, axis=axis, **({} if dtype is None else {"dtype": dtype}))
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):  # the first result too is true or false
        x = astype(x, dtype=bool)
    step, ahead = _ufunc_step(name, op), _moved(name, x, axis)
    if not shape_of(ahead)[0]:
        return x.copy()
    first, rest = _begun(op, ahead)
    following = lambda y, x: (y := step(y, x), y)
    unused, found = scan(following, first, rest) if shape_of(rest)[0] else (first, rest)
    axis = normalize_axis(name, axis, ndim_of(x))
    return operations["moveaxis"](concatenate([stack([first]), found]), 0, axis)


def _begun(op, ahead):
    """The first element along axis 0 and the others, in the dtype of what the operation makes of two."""
    x = Aval(shape_of(ahead)[1:], dtype_of(ahead))
    made = infer(op, [x, x], {}).dtype
    ahead = ahead if made == x.dtype else astype(ahead, dtype=made)
    return getitem(ahead, 0), getitem(ahead, slice(1, None))


def fold(name, op, x, axis=0, keepdims=False):
    """`ufunc.reduce` of a ufunc that is no reduction of ours, one after the other."""
    if axis is None and ndim_of(x) == 1 or isinstance(axis, tuple) and len(axis) == 1:
        axis = 0 if axis is None else axis[0]
    if axis is None or isinstance(axis, tuple):
        raise MissingRuleError(f"{name}: over several axes at once it is not offered; reduce one axis after the other")
    step, ahead = _ufunc_step(name, op), _moved(name, x, axis)
    if not shape_of(ahead)[0]:
        raise ShapeError(f"{name}: an axis of length 0 has nothing to reduce")
    y, rest = _begun(op, ahead)
    if shape_of(rest)[0]:
        y = scan(lambda y, x: (step(y, x), None), y, rest)[0]
    if keepdims:
        y = operations["expand_dims"](y, axis=normalize_axis(name, axis, ndim_of(x)))
    return y


def _moved(name, x, axis):
    return operations["moveaxis"](x, normalize_axis(name, operator.index(axis), ndim_of(x)), 0)


def _ufunc_step(name, op):
    if op is None or op.generic.arity != 2:
        raise MissingRuleError(f"{name} is not one of polyad's operations; write the loop, or use polyad's cumulative "
                               "functions")  # fmt: skip
    return op


def outer(op, a, b, **params):
    """`ufunc.outer`: the operation of each element of a with each of b."""
    a, b = asarray(a), asarray(b)
    return op(reshape(a, shape=(*shape_of(a), *(1,) * ndim_of(b))), b, **params)


def reduceat(name, ufunc, x, indices, axis=0, dtype=None):
    """`ufunc.reduceat`: reductions of the slices between consecutive indices."""
    if dtype is not None or ufunc not in UFUNC_REDUCTIONS:
        raise MissingRuleError(f"{name}: only for add, multiply, maximum, minimum, without dtype=; reduce slices of x instead")
    op, starts = operations[UFUNC_REDUCTIONS[ufunc]], [operator.index(i) for i in indices]
    axis = normalize_axis(name, axis, ndim_of(x))
    before, n = (slice(None),) * axis, shape_of(x)[axis]
    if not all(0 <= i < n for i in starts):
        raise IndexError(f"{name}: an index is out of range for {n} elements")
    parts = []
    for i, stop in zip(starts, [*starts[1:], n], strict=True):
        part = getitem(x, (*before, slice(i, stop))) if i < stop else getitem(x, (*before, slice(i, i + 1)))
        parts.append(op(part, axis=axis))
    return stack(parts, axis=axis)
