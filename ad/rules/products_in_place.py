"""The product of a cotangent and a slope, for large arrays: in the memory of the slope, where nobody else holds that.

Memory that is asked for anew costs more than the product itself. A slope is mostly an array that was just computed and is
needed for nothing else, as the count of references tells.
"""

import numpy as np

from ...dispatch import isa
from ...dsl import broadcast_to, multiply
from ...dsl.ops.arithmetic import masked_product
from .buffer_reuse import computed, times_stored
from .nan_safe import product
from .ownership import ALONE, BY_CALLER, references, writeable
from .residuals import LARGE, elements, parts_of

BLOCK_ELEMENTS = 1 << 14  # elements that are worked on at a time


def over(ct, slope, alone=ALONE):
    """`product.times(ct, slope)`, written over the slope where possible. The cotangent and the slope may have tangents, of one
    forward pass. alone: what is counted here of a slope that nobody holds but those on the way here."""
    if product.times is not multiply:
        return product.times(ct, slope)
    if type(slope) is np.ndarray:
        if references(slope) == alone + times_stored(slope) and _fits(slope, ct):
            return np.multiply(ct, slope, slope)
    elif isa(slope, (float, int, np.generic)):
        if type(ct) is np.ndarray and ct.ndim and ct.size and not any(ct.strides):  # one number everywhere, as of a sum
            return broadcast_to(multiply(ct[(0,) * ct.ndim], slope), shape=ct.shape)
    elif elements(slope) and references(slope) == alone:
        return _with_tangents(ct, slope)
    return computed(multiply, ct, slope)


def masked_over(ct, slope):
    """`masked_product(ct, slope)`, as `over` where ct is large and nowhere zero: there is nothing to be masked."""
    if elements(ct) >= LARGE and _nowhere_zero(ct):
        return over(ct, slope, BY_CALLER)
    return masked_product(ct, slope)


def _nowhere_zero(x):
    if type(x) is np.ndarray:
        return bool(np.logical_and.reduce(x, axis=None))
    parts = parts_of(x)
    return bool(parts) and all(map(_nowhere_zero, parts))


def _fits(slope, ct):
    """Return whether their product has the kind of the slope, whose memory is its own."""
    alike = type(ct) is np.ndarray and ct.shape == slope.shape and ct.dtype == slope.dtype
    return alike and writeable(slope)


def _with_tangents(ct, slope):
    """The product for a slope with a tangent: (ct s, ct s' + ct' s)."""
    number, tangent = type(slope).halves
    s, ds = getattr(slope, number), getattr(slope, tangent)
    if type(s) is not np.ndarray or type(ds) is not np.ndarray:
        return product.times(ct, slope)
    mine = ALONE + 1  # held by the slope, too
    if references(s) != mine + times_stored(s) or references(ds) != mine + times_stored(ds):
        return product.times(ct, slope)
    same = type(ct) is type(slope)
    c, dc = (getattr(ct, number), getattr(ct, tangent)) if same else (ct, None)
    if not (_fits(s, c) and _fits(ds, c) and (not same or _fits(s, dc))) or (same and ct.run is not slope.run):
        return product.times(ct, slope)
    if same:
        _block_by_block(c, dc, s, ds)
    else:
        np.multiply(c, ds, ds)
        np.multiply(c, s, s)
    return slope


def _block_by_block(c, dc, s, ds):
    """The product of (c, dc) and (s, ds), written over the latter, in blocks which the processor's cache holds: what is in
    between takes no memory."""
    rows = max(1, BLOCK_ELEMENTS * len(s) // s.size)
    part = np.empty((min(rows, len(s)), *s.shape[1:]), s.dtype)
    for i in range(0, len(s), rows):
        where = slice(i, i + rows)
        a, da, b, db = c[where], dc[where], s[where], ds[where]
        between = part[: len(b)]
        np.multiply(da, b, between)
        np.multiply(a, db, db)
        np.add(db, between, db)
        np.multiply(a, b, b)
