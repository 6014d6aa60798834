"""The product of a cotangent and a slope, for large arrays: in the memory of the slope, where nobody else holds that.

Memory that is asked for anew costs more than the product itself. A slope is mostly an array that was just computed and is
needed for nothing else, as the count of references tells.
"""

import sys

import numpy as np

from ..dsl import broadcast_to, multiply
from .careful import product
from .residuals import elements

_count = getattr(sys, "getrefcount", None)
ALONE = (lambda x: _count(x))(np.empty(0)) if _count else -1  # how many hold what a function got and nobody else has


def over(ct, slope):
    """`product.times(ct, slope)`, written over the slope where possible. The cotangent and the slope may have tangents, of one
    forward pass."""
    if product.times is not multiply:
        return product.times(ct, slope)
    if type(slope) is np.ndarray:
        if _count and _count(slope) == ALONE and _fits(slope, ct):
            return np.multiply(ct, slope, slope)
    elif isinstance(slope, (float, int, np.generic)):
        if type(ct) is np.ndarray and ct.ndim and ct.size and not any(ct.strides):  # one number everywhere, as of a sum
            return broadcast_to(multiply(ct[(0,) * ct.ndim], slope), shape=ct.shape)
    elif elements(slope) and _count and _count(slope) == ALONE:
        return _with_tangents(ct, slope)
    return product.times(ct, slope)


def _fits(slope, ct):
    """Whether their product has the kind of the slope, whose memory is its own."""
    alike = type(ct) is np.ndarray and ct.shape == slope.shape and ct.dtype == slope.dtype
    return alike and slope.flags.owndata and slope.flags.writeable


def _with_tangents(ct, slope):
    """The product for a slope with a tangent: (ct s, ct s' + ct' s)."""
    number, tangent = type(slope).halves
    s, ds = getattr(slope, number), getattr(slope, tangent)
    mine = ALONE + 1  # held by the slope, too
    if type(s) is not np.ndarray or type(ds) is not np.ndarray or _count(s) != mine or _count(ds) != mine:
        return product.times(ct, slope)
    same = type(ct) is type(slope)
    c, dc = (getattr(ct, number), getattr(ct, tangent)) if same else (ct, None)
    if not (_fits(s, c) and _fits(ds, c) and (not same or _fits(s, dc))) or (same and ct.run is not slope.run):
        return product.times(ct, slope)
    np.multiply(c, ds, ds)
    if same:
        np.add(ds, np.multiply(dc, s), ds)
    np.multiply(c, s, s)
    return slope
