"""Random bits from a key: the one operation behind `polyad.random`."""

from typing import Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe
from ..avals import Aval, ndim_of, shape_of
from ..card import opaque
from ..samples import case, integers
from .shape import reshape

KEY = np.dtype("uint64")


def _keys(*shape):
    return lambda rng: rng.integers(0, 2**64, (*shape, 2), KEY)


@opaque(
    differentiable=False,
    home="random",
    kernel=None,
    numpy=(),
    samples=[
        case(_keys(), 0, shape=(5,)), case(_keys(), integers(high=9), shape=(2, 3), stream=1),
        case(_keys(3), 7, shape=()), case(_keys(3), integers(2, 3), shape=(2,)), case(_keys(), 2**40, shape=(0,)),
    ],
)  # fmt: skip
def random_bits(key, data, /, shape: Any = (), stream: Any = 0):
    """Independent random 64-bit words: those that Philox4x64-10 makes of a key, element by element.

    key: uint64 array of shape (..., 2). data: integer array or int, to have other words from the same key; its shape broadcasts
    against the key's leading axes. shape: tuple, of the words for each key and datum. stream: int, another way to have other
    words, which `polyad.random` uses to keep draws, `split` and `fold_in` apart. Returns uint64 of shape (..., *shape).
    Word i is word i % 4 of the block with the counter (1 + i // 4, data, 0, stream); so those of key (k, 0) with data and
    stream 0 are `numpy.random.Philox(key=k).random_raw()`. (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
    as 1, 2, 3, SC 2011.) Raises ShapeError, DTypeError.
    """


@random_bits.rule("shape")
def random_bits_shape(key, data, shape=(), stream=0):
    lead = check_key("random_bits", key)
    return Aval((*np.broadcast_shapes(lead, shape_of(data)), *shape), KEY)


def check_key(name, key):
    """The leading axes of an array of keys. Raises DTypeError, ShapeError."""
    shown = str(key) if isinstance(key, Aval) else describe(key)
    if getattr(key, "dtype", None) != KEY:
        raise DTypeError(f"{name}: {shown} is not a key, which is a uint64 array of shape [2]; make one with random.key(seed)")
    if key.shape[-1:] != (2,):
        raise ShapeError(f"{name}: {shown} is not a key, whose last axis has length 2; make one with random.key(seed)")
    return key.shape[:-1]


@random_bits.rule("batch")
def random_bits_batch(size, xs, batched, **params):
    """Lanes lead; axes of length 1 after them align the leading axes of a lane's keys with those of its data."""
    key, data = xs
    most = max(ndim_of(key) - 1 - batched[0], ndim_of(data) - batched[1])
    if batched[0]:
        lane = shape_of(key)[1:]
        key = reshape(key, shape=(size, *(1,) * (most + 1 - len(lane)), *lane))
    if batched[1]:
        lane = shape_of(data)[1:]
        data = reshape(data, shape=(size, *(1,) * (most - len(lane)), *lane))
    return random_bits(key, data, **params)
