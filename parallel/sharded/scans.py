"""Cumulative sums of sharded arrays: of each chunk, after the sum of all chunks before it."""

from ...dsl import add, cumsum, expand_dims, reshape, sum
from ...dsl.avals import normalize_axis
from ..moves import rank_before
from .array import Sharded, made, moved_to
from .chunks import one_each
from .propagate import Pattern, run


@cumsum.method
def cumsum_sharded(x: Sharded, /, axis=None, dtype=None):
    if axis is None:
        return cumsum(x if x.ndim == 1 else reshape(x, shape=(-1,)), axis=0, dtype=dtype)
    axis = normalize_axis("cumsum", axis, x.ndim)
    part = x.layout.parts[axis]
    if not part or x.layout.along(part).size == 1:
        letters = tuple(range(x.ndim))
        linear = "together" if dtype is None else ""
        pattern = Pattern((letters,), letters, whole=frozenset({axis} if not part else ()), linear=linear)
        return run("cumsum", pattern, (x,), lambda block: cumsum(block, axis=axis, dtype=dtype), x.shape)
    what = "cumsum of Sharded arrays"
    x = moved_to(x, x.layout.reduced(()), what)
    comm = x.layout.along(part)
    ahead = rank_before(sum(x.block, axis=axis, dtype=dtype), blocks=one_each(comm, what), reverse=False)
    return made(add(expand_dims(ahead, axis), cumsum(x.block, axis=axis, dtype=dtype)), x.layout)
