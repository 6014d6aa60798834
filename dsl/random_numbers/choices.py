"""Random order and random choice, from a key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, describe, isa
from ..avals import ndim_of, normalize_axis, shape_of
from ..ops.arithmetic import add, clip, divide, multiply, negative
from ..ops.compare import equal, where
from ..ops.complex import stop_gradient
from ..ops.cumulative import cumsum
from ..ops.exponential import log
from ..ops.indexing import take
from ..ops.search import argmax, searchsorted
from ..ops.shape import moveaxis, reshape
from ..ops.sorting import argsort
from .draws import broadcast_shape, draw_shape, half_open, inside, randint
from .keys import check_one_key, listed, words

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


def permutation(key: Any, x: Any, axis: int = 0) -> AnyArray:
    """A random order of the slices of x along an axis, or of the integers below x if that is an int.

    key: a key. x: array, whose derivative follows its elements, or int. Raises ShapeError, DTypeError.
    """
    check_one_key("permutation", key)
    if isa(x, (int, np.integer)):
        return argsort(words(key, listed("permutation", x)))
    axis = normalize_axis("permutation", axis, ndim_of(x))
    return take(x, argsort(words(key, (shape_of(x)[axis],))), axis=axis)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> AnyArray:
    """Random slices of an array along an axis, or random integers below a number.

    key: a key. a: array (derivatives follow its elements) or int. shape: of the selection, which replaces the axis. replace:
    whether a slice may be chosen again. p: probabilities, one per slice, which need not add up to 1; no derivative. Raises
    ShapeError, DTypeError.

    >>> import polyad as pa
    >>> pa.random.choice(pa.random.key(0), 5, (3,), replace=False).shape
    (3,)
    """
    shape = draw_shape("choice", key, shape)
    integer = isa(a, (int, np.integer))
    n = int(a) if integer else shape_of(a)[normalize_axis("choice", axis, ndim_of(a))]
    size = math.prod(shape)
    if size and (n == 0 or not replace and size > n):
        raise ShapeError(f"choice: {size} out of {n} slices{'' if replace else ' without replacement'}; choose fewer")
    if p is not None and shape_of(p) != (n,):
        raise ShapeError(f"choice: p is {describe(p)}, not one probability for each of {n} slices")
    p = None if p is None else stop_gradient(p)
    chosen = _with_replacement(key, n, shape, p) if replace else reshape(_order(key, n, p)[:size], shape=shape)
    return chosen if integer else take(a, chosen, axis=axis)


def _with_replacement(key, n, shape, p):
    if p is None:
        return randint(key, shape, 0, max(n, 1))
    heights = cumsum(p)  # the first place whose sum exceeds the draw: one of probability 0 is no such place
    u = multiply(half_open(words(key, shape), np.float64), heights[-1])
    return clip(searchsorted(heights, u, side="right"), None, n - 1)


def _order(key, n, p):
    """A random order in which slices are drawn one after the other, each time in proportion to p."""
    if p is None:
        return permutation(key, n)
    never = equal(p, 0)
    waiting = divide(negative(log(inside(key, (n,)))), where(never, 1.0, p))  # Efraimidis and Spirakis, 2006
    return argsort(where(never, math.inf, waiting))


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> AnyArray:
    """Integers whose probabilities are softmax(logits) along an axis, by the largest of logits plus Gumbel noise.

    key: a key. logits: array; -inf for what never happens; no derivative. shape: of the result, to which the logits' other
    axes broadcast; by default theirs. Raises ShapeError, DTypeError.
    """
    logits = stop_gradient(logits)
    axis = normalize_axis("categorical", axis, ndim_of(logits))
    lengths = shape_of(logits)
    n, others = lengths[axis], (*lengths[:axis], *lengths[axis + 1 :])
    shape = broadcast_shape("categorical", key, shape, [logits], [others])
    noise = negative(log(negative(log(inside(key, (*shape, n))))))
    return argmax(add(moveaxis(logits, axis, -1), noise), axis=-1)
