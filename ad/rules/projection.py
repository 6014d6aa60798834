"""Tangents and cotangents brought to the spaces that they belong to: dense, of the array's shape and dtype (real stays real),
once for all lanes of what is the same in all.
"""

import numpy as np

from ...dispatch import Container, DTypeError, ShapeError, StructureError, Tangent, describe, isa
from ...dsl import broadcast_to
from ...dsl.avals import dtype_of, shape_of
from ...dsl.axes import enclosing_axes
from ...dsl.layers.batching import replicated_axes
from ...dsl.ops.complex import astype, real
from ...dsl.ops.create import beside, zeros_like
from ...dsl.ops.named import psum_over
from ...dsl.ops.reduce import sum_to
from .written import SPACE


class _NoTangent:
    """The tangent of a value that has no tangent space: an integer, a boolean, a static leaf."""

    mapped = False  # for vmap: one for all lanes, with no axis for them

    def __repr__(self):
        return "NoTangent"

    def __reduce__(self):
        return "NoTangent"

    def __add__(self, other):
        return other

    __radd__ = __add__


NoTangent = _NoTangent()


def match_cotangent(ct, y, x, name, place=None, summed=()):
    """A cotangent brought to its argument's space: dense, its shape, its dtype (real stays real), and once for all lanes
    if the argument is the same in all of them; None for zero. name: of the operation, place: of the argument, for errors.
    summed: names of axes along which the rule has summed it already."""
    kind = type(ct)
    if kind is type(x):
        if kind is np.float64:
            if not enclosing_axes():
                return ct
        elif kind is np.ndarray or getattr(kind, "halves", None) is not None:  # the latter: a value with a tangent
            a, b = (ct, x) if kind is np.ndarray else (ct.below, x.below)
            if type(a) is np.ndarray is type(b) and a.dtype is b.dtype:
                shape = b.shape
                if a.shape == shape:
                    return ct
                if a.ndim > len(shape) and a.shape[a.ndim - len(shape) :] == shape and not enclosing_axes():
                    return sum_to(ct, shape)  # as for a bias
    elif getattr(type(x), "halves", None) is not None and _alike(ct, x.below) and not enclosing_axes():
        return ct
    elif kind is not np.ndarray:
        ct = as_dense(ct, f"{name}: its reverse rule", x, place)
        if ct is None:
            return None
    if enclosing_axes():
        result = y[0] if isinstance(y, tuple) else y
        mixed = [axis for axis in replicated_axes(x) if axis not in replicated_axes(result)]
        for axis in mixed:
            ct = ct if axis.name in summed else psum_over(ct, axis)
    shape, given = shape_of(x), shape_of(ct)
    if given != shape:
        extra = len(given) - len(shape)
        if extra < 0 or given[extra:] != shape:  # not only axes before those of x
            full = _common_shape(f"{name}: its reverse rule", ct, x, place)
            ct = ct if given == full else broadcast_to(beside(ct, x), shape=full)
        ct = sum_to(ct, shape)
    if kind is np.ndarray:
        _of_numbers(ct, f"{name}: its reverse rule", x, place)
    return match_dtype(ct, x)


def _alike(a, b):
    kind = type(a)
    return kind is type(b) and (kind is np.float64 or kind is np.ndarray and a.shape == b.shape and a.dtype is b.dtype)


def match_tangent(dy, y, name):
    """A tangent brought to its value's shape and dtype."""
    if type(dy) is not type(y):
        dy = as_dense(dy, f"{name}: its forward rule", y)
        dy = zeros_like(y) if dy is None else dy
    elif type(dy) is np.ndarray:
        _of_numbers(dy, f"{name}: its forward rule", y)
    shape = shape_of(y)
    if shape_of(dy) != shape:
        if _common_shape(f"{name}: its forward rule", dy, y) != shape:
            raise _misfit(f"{name}: its forward rule", dy, y)
        dy = broadcast_to(beside(dy, y), shape=shape)
    return match_dtype(dy, y)


SPACE.update(ndarray=np.ndarray, match_cotangent=match_cotangent)


def as_dense(ct, rule, x, place=None):
    """Bring what a rule returned for the dense array x to a dense array of numbers or None; a structured one is made dense."""
    if ct is None or ct is NoTangent:
        return None
    if Container in type(ct).__mro__:
        if ct.always_zero:
            return None
        if ct.densifies:
            return ct.dense()
        raise StructureError(f"{rule} returned {describe(ct)}{_for(place)}, which has no dense form, for {describe(x)}")
    if isa(ct, (Tangent, tuple, list, dict, str)):
        raise StructureError(
            f"{rule} returned a {type(ct).__name__}{_for(place)} for {describe(x)}; it must return an array of that shape, "
            "or None for zero"
        )
    _of_numbers(ct, rule, x, place)
    return ct


def _of_numbers(ct, rule, x, place=None):
    if dtype_of(ct).kind not in "biufc":
        raise DTypeError(
            f"{rule} returned {describe(ct)}{_for(place)}, which holds no numbers, for {describe(x)}; it must return an array "
            "of its shape, or None for zero"
        )


def _for(place):
    return "" if place is None else f" for argument {place}"


def _common_shape(rule, ct, x, place=None):
    try:
        return np.broadcast_shapes(shape_of(ct), shape_of(x))
    except ValueError:
        raise _misfit(rule, ct, x, place) from None


def _misfit(rule, ct, x, place=None):
    return ShapeError(
        f"{rule} returned {describe(ct)} of shape {list(shape_of(ct))}{_for(place)} for {describe(x)} of shape "
        f"{list(shape_of(x))}; it must have that shape, or broadcast with it"
    )


def match_dtype(ct, x):
    """ct in x's dtype; a complex one of a real x keeps its real part."""
    dtype = dtype_of(x)
    if dtype_of(ct) == dtype:
        return ct
    if dtype_of(ct).kind == "c" and dtype.kind != "c":
        ct = real(ct)
    return astype(ct, dtype=dtype)
