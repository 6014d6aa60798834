"""The product of a cotangent and a slope, for large arrays: in the memory of the slope, where nobody else holds that.

Memory that is asked for anew costs more than the product itself. A slope is mostly an array that was just computed and is
needed for nothing else, as the count of references tells.
"""

import numpy as np

from ..dsl import broadcast_to, multiply
from .careful import product
from .owned import ALONE, count, writeable
from .residuals import elements


def over(ct, slope):
    """`product.times(ct, slope)`, written over the slope where possible. The cotangent and the slope may have tangents, of one
    forward pass."""
    if product.times is not multiply:
        return product.times(ct, slope)
    if type(slope) is np.ndarray:
        if count(slope) == ALONE and _fits(slope, ct):
            return np.multiply(ct, slope, slope)
    elif isinstance(slope, (float, int, np.generic)):
        if type(ct) is np.ndarray and ct.ndim and ct.size and not any(ct.strides):  # one number everywhere, as of a sum
            return broadcast_to(multiply(ct[(0,) * ct.ndim], slope), shape=ct.shape)
    elif elements(slope) and count(slope) == ALONE:
        return _with_tangents(ct, slope)
    return product.times(ct, slope)


def _fits(slope, ct):
    """Whether their product has the kind of the slope, whose memory is its own."""
    alike = type(ct) is np.ndarray and ct.shape == slope.shape and ct.dtype == slope.dtype
    return alike and writeable(slope)


def _with_tangents(ct, slope):
    """The product for a slope with a tangent: (ct s, ct s' + ct' s)."""
    number, tangent = type(slope).halves
    s, ds = getattr(slope, number), getattr(slope, tangent)
    mine = ALONE + 1  # held by the slope, too
    if type(s) is not np.ndarray or type(ds) is not np.ndarray or count(s) != mine or count(ds) != mine:
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
