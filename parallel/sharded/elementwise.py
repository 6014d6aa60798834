"""Elementwise operations on sharded arrays: each rank on its blocks, once these lie alike."""

from functools import partial

import numpy as np

from ...dsl import (
    add,
    astype,
    claim,
    conj,
    divide,
    elementwise_family,
    imag,
    multiply,
    negative,
    positive,
    real,
    stop_gradient,
    subtract,
)
from ...dsl.avals import shape_of
from ...dsl.ops.arithmetic import masked_product, masked_quotient
from .array import Sharded
from .either import of_either
from .propagate import Pattern, batch_letters, run

JOINTLY_LINEAR = (add, subtract, negative, positive, real, imag, conj, stop_gradient)  # linear in all arguments


@claim(elementwise_family, Sharded)
def sharded_elementwise(op, *xs, **params):
    """On the blocks."""
    shape = np.broadcast_shapes(*[shape_of(x) for x in xs])
    inputs = tuple([batch_letters(shape_of(x), shape) for x in xs])
    pattern = Pattern(inputs, tuple(range(len(shape))), linear=linear_in(op, xs, params))
    return run(op.__name__, pattern, xs, lambda *blocks: op(*blocks, **params), shape)


def linear_in(op, xs, params):
    """In which of its arguments an elementwise operation is linear, as a Pattern says it."""
    if op in JOINTLY_LINEAR:
        return "together"
    if op is multiply or (op is divide and not (isinstance(xs[1], Sharded) and xs[1].layout.partial)):
        return "each"
    if op is astype and np.dtype(params["dtype"]).kind in "fc" and xs[0].dtype.kind != "c":
        return "together"
    return ""


for op in (masked_product, masked_quotient):  # whose own method for any arrays would go first, and has the slopes of its parts
    of_either(op, partial(sharded_elementwise, op))
