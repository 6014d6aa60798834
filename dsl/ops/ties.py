"""Where functions of eigenvalues and eigenvectors together lose a part of their slope: at equal values.

Eigenvectors of equal eigenvalues may be turned among each other, and derivatives count that turn as 0 (decision page 5). A
function such as `(v * h(w)) @ v.T` is smooth there and needs the turn: no rule can see that from slopes by w and by v, so it
is said. Cards tell where, with what is here: the rule `lost_back(cts, y, x)` from the cotangents of the results,
`lost_ahead(dxs, y, x)` from the tangent of the matrix, for functions that read both kinds of results. Each returns a mask, or
None where nothing is lost.
"""

import numpy as np

from ...dispatch import Layer, layers_of
from ..array_libraries import bottom, host_copy
from ..avals import dtype_of, shape_of
from ..roots import at_convention
from .arithmetic import add, multiply, subtract
from .compare import equal, greater, less_equal, logical_and, logical_or, not_equal
from .complex import abs, stop_gradient
from .create import eye_like
from .matrices import adjoint, real_dtype
from .reduce import any, max
from .reduce import sum as count
from .shape import expand_dims

ROUNDING = 100  # how many times the rounding of a sum counts as 0


def tied(s):
    """Find the pairs [i, j] of values, i ≠ j too, that are equal up to rounding."""
    n = shape_of(s)[-1]
    gaps = abs(stop_gradient(subtract(expand_dims(s, -2), expand_dims(s, -1))))
    size = stop_gradient(max(abs(s), axis=-1, keepdims=True))
    return less_equal(gaps, expand_dims(multiply(size, n * np.finfo(real_dtype(s.dtype)).eps), -1))


def through_ties(name, s):
    """Say that slopes of `name` are conventions where values s are equal, if they are differentiated again (roots.py)."""
    if isinstance(s, Layer) and shape_of(s)[-1] > 1:
        at_convention(name, greater(count(tied(s), axis=-1), 1), s, "equal values")


def tied_pairs(s):
    """`tied` of different ones; None if there are none, which a trace cannot know."""
    if shape_of(s)[-1] < 2:
        return None
    pairs = logical_and(tied(s), equal(eye_like(s, shape_of(s)[-1], dtype=real_dtype(dtype_of(s))), 0))
    return pairs if somewhere(pairs) else None


def somewhere(here):
    """Test whether a mask holds somewhere, or may."""
    if [part for part in layers_of(here) if part.below is None]:  # a trace
        return True
    return bool(np.any(host_copy(bottom(here))))


def counted(c, *given):
    """Find where the elements of matrices c, made of these arrays, are more than rounding."""
    n = shape_of(c)[-1]
    size = sum([max(abs(x), axis=(-2, -1), keepdims=True) for x in given])
    return greater(abs(c), multiply(size, ROUNDING * n * np.finfo(real_dtype(dtype_of(c))).eps))


def lost_back(pairs, ct, columns, turn):
    """The rule `lost_back` for tied pairs.

    ct: cotangent of the values, None if nobody reads them. columns: cotangents of the vectors, as columns. turn: () -> where
    the cotangent of a turn is not 0, matrices; asked for where vectors are read alone, as by projections, which lose nothing.
    """
    if pairs is None or not columns:
        return None
    if ct is None:
        return logical_and(pairs, turn())
    read = not_equal(ct, 0)
    for c in columns:
        read = logical_or(read, any(not_equal(c, 0), axis=-2))
    return logical_and(pairs, expand_dims(read, -1))


def unsymmetric(c, *given):
    """Find where c, the cotangent of a turn inside of unitary matrices, is not Hermitian: only the rest of it acts on them."""
    return counted(subtract(c, adjoint(c)), *given)


def sum_or_none(x, y):
    """x + y, where either may be None."""
    return y if x is None else x if y is None else add(x, y)
