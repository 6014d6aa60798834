"""Arrays of lengths that are known only when a program runs: what a loop keeps of each step.

In a trace such an axis has the length UNKNOWN (`?` in print). Operations that name no length take them as they are; these
stand in for those that would.
"""

from typing import Any

import numpy as np

from ...dispatch import Array, dtype_of, shape_of
from ..array_libraries import asarray_like
from ..avals import UNKNOWN, Aval
from ..card import elementwise, linear
from ..samples import case, normal
from .create import full_like
from .indexing import Slice, index
from .padding import pad


@elementwise(kernel=None, numpy=(), differentiable=False, spelled="dsl.ops.lengths.uniform", samples=[
    case(normal(2, 3), value=1.5), case(normal(2), dtype=np.dtype("i4")),
])  # fmt: skip
def uniform(x, /, value: Any = 0, dtype=None):
    """An array of x's shape with the same number everywhere. dtype: x's unless given."""


@uniform.method
def uniform_of(x: Array, /, value=0, dtype=None):
    return full_like(x, value, dtype=dtype_of(x) if dtype is None else dtype)


@linear(kernel=None, numpy=(), linear=(0,), spelled="dsl.ops.lengths.lengthened", samples=[
    case(normal(2, 3), normal(4, 2)), case(normal(2), normal(3)), case(normal(0, 2), normal(2, 2)),
    case(normal(3, 2), normal(4, 4), first=1),
])  # fmt: skip
def lengthened(x, like, /, first: Any = 0):
    """x with zeros at its end along each axis, from axis `first` on, along which `like`, of as many axes, is longer."""


@lengthened.method
def lengthened_array(x: Array, like: Array, /, first=0):
    lengths = zip(shape_of(x), shape_of(like), strict=True)
    more = [max(m - n, 0) if axis >= first else 0 for axis, (n, m) in enumerate(lengths)]
    return pad(x, tuple([(0, n) for n in more])) if any(more) else x


@lengthened.rule("shape")
def lengthened_shape(x, like, first=0):
    longest = [UNKNOWN if UNKNOWN in n else max(n) for n in zip(x.shape, like.shape, strict=True)]
    return Aval((*x.shape[:first], *longest[first:]), x.dtype)


@lengthened.rule("transpose")
def lengthened_transpose(i, ct, y, x, like, first=0):
    return shortened(ct, x)


@linear(kernel=None, numpy=(), linear=(0,), spelled="dsl.ops.lengths.shortened", samples=[
    case(normal(4, 3), normal(3, 3)), case(normal(3), normal(1)),
])  # fmt: skip
def shortened(x, like, /):
    """x without what is beyond the lengths of `like`, of as many axes and nowhere longer. Keeps x's dtype."""


@shortened.method
def shortened_array(x: Array, like: Array, /):
    return index(x, spec=tuple([Slice((None, n, None)) for n in shape_of(like)]))


@shortened.rule("shape")
def shortened_shape(x, like):
    return Aval(like.shape, x.dtype)


@shortened.rule("transpose")
def shortened_transpose(i, ct, y, x, like):
    return lengthened(ct, x)


def in_lanes(x, size):
    """x as one value for each of `size` lanes, along axis 0."""
    return index(index(x, spec=(None,)), asarray_like(np.zeros(size, np.intp), x), spec=("array",))


@lengthened.rule("batch")
def lengthened_batch(size, xs, batched, first=0):
    return lengthened(*_each_in_lanes(size, xs, batched), first=first + 1)


@shortened.rule("batch")
def shortened_batch(size, xs, batched):
    return shortened(*_each_in_lanes(size, xs, batched))


def _each_in_lanes(size, xs, batched):
    return [x if b else in_lanes(x, size) for x, b in zip(xs, batched, strict=True)]


def of_one_length(xs, first=0):
    """Arrays that differ in lengths from axis `first` on, with zeros at their ends so that they do not."""
    if len({shape_of(x)[first:] for x in xs}) == 1 and UNKNOWN not in shape_of(xs[0]):
        return list(xs)
    longest = xs[0]
    for x in xs[1:]:
        longest = lengthened(longest, x, first=first)
    return [lengthened(x, longest, first=first) for x in xs]
