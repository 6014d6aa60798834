"""Keys of random numbers: made from a seed, split, folded with numbers, and watched for being used twice.

A key is a uint64 array of shape (2,). Everything random is a function of it alone, so a key is an argument like any other:
it can be mapped over, traced, sent to another device or process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...dispatch import DTypeError, Layer, PolyadWarning, ShapeError, describe, isa
from ...dispatch.callers import warn
from ...dispatch.layers import open_runs
from ..array_libraries import host_copy
from ..avals import dtype_of
from ..layers.batching import LanesRun
from ..ops.compare import less, where
from ..ops.complex import astype
from ..ops.create import asarray, zeros_like
from ..ops.random_bits import KEY, check_key, random_bits
from ..ops.shape import stack

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray
DRAW, SPLIT, FOLD = range(3)  # streams of words of one key, for different uses


class KeyReuseWarning(PolyadWarning):
    """A key was used for two draws, which therefore are not independent."""


# ---------------------------------------------------------------------- making keys
def key(seed: Any) -> AnyArray:
    """A key from a seed.

    seed: int (taken modulo 2**128), or an integer array of any shape, for one key per element. Returns uint64 of shape
    (2,), or (*seed.shape, 2): those of NumPy's `Philox(key=seed)`. Raises DTypeError.

    >>> import polyad as pa
    >>> pa.random.key(7)
    array([7, 0], dtype=uint64)
    """
    if isa(seed, int) and not isa(seed, bool):
        return asarray([seed % 2**64, (seed >> 64) % 2**64], dtype=KEY)
    check_integer("key", "seed", seed)
    low = astype(seed, dtype=KEY)
    high = zeros_like(low) if dtype_of(seed).kind == "u" else astype(where(less(seed, 0), -1, 0), dtype=KEY)
    return stack([low, high], axis=-1)


def split(key: Any, n: Any = 2) -> AnyArray:
    """Independent new keys from one.

    key: a key. n: how many, an int or a shape. Returns uint64 of shape (n, 2). Key i depends on `key` and i alone. Raises
    DTypeError, ShapeError.

    >>> import polyad as pa
    >>> one, two = pa.random.split(pa.random.key(7))
    """
    check_one_key("split", key)
    return random_bits(key, 0, shape=(*listed("split", n), 2), stream=SPLIT)


def fold_in(key: Any, data: Any) -> AnyArray:
    """A new key from a key and a number, such as that of a step, a layer or a rank.

    key: a key. data: int or integer array without axes (also one per lane, as `axis_index` gives it). Different numbers give
    independent keys. Raises DTypeError, ShapeError.

    >>> import polyad as pa
    >>> pa.random.fold_in(pa.random.key(7), 1).shape
    (2,)
    """
    check_one_key("fold_in", key)
    check_integer("fold_in", "data", data)
    if isa(data, int):
        data = asarray(data % 2**64, dtype=KEY)
    if data.shape:
        raise ShapeError(f"fold_in: data is {describe(data)}, not one number; map over it with polyad.vmap")
    return random_bits(key, data, shape=(2,), stream=FOLD)


def words(key, shape, part=0):
    """Random words of a key for a draw; several parts of one draw are independent. Notes the use of the key."""
    if _watch.used is not None and part == 0:
        _watch.note(key)
    return random_bits(key, part, shape=shape, stream=DRAW)


# ---------------------------------------------------------------------- checks
def check_one_key(name, key):
    """Refuse what is no key, and several of them."""
    if check_key(name, key):
        raise ShapeError(f"{name}: {describe(key)} holds several keys; map over them with polyad.vmap")


def check_integer(name, argument, x):
    """Refuse what is no integer or array of integers."""
    if isa(x, (bool, float, complex, str, list, tuple)) or dtype_of(x).kind not in "iu":
        raise DTypeError(f"{name}: {argument} is {describe(x)}; give an int or an integer array")


def listed(name, shape):
    """A shape given as an int or a sequence of ints, as a tuple. Raises ShapeError."""
    try:
        found = tuple(n.__index__() for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except AttributeError:
        raise ShapeError(f"{name}: shape {shape!r} is no int and no tuple of ints") from None
    if any(n < 0 for n in found):
        raise ShapeError(f"{name}: shape {found} has a negative length")
    return found


# ---------------------------------------------------------------------- keys used twice
class _Watch:
    """The keys that were drawn from (their bytes), each with the transformation in which that was; None: not watching."""

    used: Any = None

    def note(self, key):
        """Remember a use, and warn if it is not the first."""
        runs = open_runs()
        for row in _plain_keys(key):
            before = self.used.get(row, _nowhere)
            if before is not _nowhere and not _again(before, runs):
                warn(
                    "a key was used for a second draw, so that both give the same numbers; make a key for each with "
                    "polyad.random.split",
                    KeyReuseWarning,
                )
            self.used[row] = runs


_watch = _Watch()
_nowhere = object()


def _plain_keys(key):
    """The bytes of each key, of all lanes; nothing of a key that a trace knows by shape only."""
    while isinstance(key, Layer):
        key = key.below
    return [] if key is None else [row.tobytes() for row in np.reshape(host_copy(key), (-1, 2))]


def _again(before, runs):
    """Return whether two uses belong to two passes of one `vmap`, which runs its function once per group of lanes."""
    axes = lambda runs: {id(run.axis): run for run in runs if isinstance(run, LanesRun)}
    first, second = axes(before), axes(runs)
    return any(first[axis] is not second[axis] for axis in first.keys() & second.keys())


class debug_key_reuse:
    """Switch on (or off) a watch for keys that are used for more than one draw: each second use is a `KeyReuseWarning`.

    on: bool. Holds from the call on, for all threads; as a context manager until its end. It compares numbers, so it slows
    draws down and waits for devices; keys under a trace are not seen. A function that is evaluated twice with one key, as by
    `check_grads`, is warned of too. Drawing from a key and splitting it as well is no reuse here: they do not overlap.

    >>> import polyad as pa
    >>> with pa.random.debug_key_reuse(True):
    ...     x = pa.random.normal(pa.random.key(0), (2,))
    """

    def __init__(self, on: bool = True) -> None:
        self.before = _watch.used
        _watch.used = {} if on else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        _watch.used = self.before
