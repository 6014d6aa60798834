"""Errors of operations and their derivatives in units in the last place (ulp) of the exact value."""

import functools
import math
import warnings

import numpy as np
from mpmath import mp, mpf
from points import points
from references import REFERENCES

import polyad as pa
from polyad.dsl import operations

COMPOSITES = ("softplus", "log_sigmoid", "relu", "leaky_relu", "elu", "silu", "gelu", "float_power", "polygamma")
ELSEWHERE = ("nextafter", "tanh_slope")  # neighbours are exact; the other is the slope of tanh, for points on its curve
KINDS = ((np.float64, False), (np.float64, True), (np.float32, False), (np.float32, True), (np.float16, False))


@functools.cache
def names():
    """The operations measured, by the files of their cards: each elementwise one with a floating result, and activations made
    of such."""
    cards = [name for name, op in operations.items() if op.card.kind == "elementwise" and floating(op)]
    cards.sort(key=lambda name: operations[name].generic.prototype.__module__)  # not by the order of imports
    return [name for name in cards if name not in ELSEWHERE] + list(COMPOSITES)


def floating(op):
    """Whether the result for floating arguments is a floating number; a card without samples computes no numbers of its own."""
    if not op.card.samples:
        return False
    args, params = op.card.samples[0](np.random.default_rng(0))
    return op(*args, **params).dtype.kind == "f"


def operation(name):
    """An operation by the name of its card, or a composite one by its public name."""
    return operations[name] if name in operations else getattr(pa, name)


def rows(name):
    """(argument or None, order) of what is measured of an operation: the value, then both derivatives by each argument."""
    yield None, 0
    if operation(name).card.differentiable:
        for by in range(len(REFERENCES[name].at)):
            if by not in REFERENCES[name].constants:
                yield by, 1
                yield by, 2


def function(name, by=None, order=0):
    """The operation on whole arrays, or its derivative of an order by argument `by`: reverse mode, forward over reverse."""
    op = functools.partial(operation(name), **REFERENCES[name].params)
    if not order:
        return op

    def slope(*xs):
        y, pull = pa.vjp(lambda x: op(*xs[:by], x, *xs[by + 1 :]), xs[by])
        return pull(pa.ones_like(y))[0]

    if order == 1:
        return slope
    return lambda *xs: pa.jvp(lambda x: slope(*xs[:by], x, *xs[by + 1 :]), (xs[by],), (pa.ones_like(xs[by]),))[1]


@functools.cache
def exact(name, args, by, order):
    return REFERENCES[name].exact(args, by, order)


def unit(y, dtype):
    """The unit in the last place of a number; below the normal numbers it is the least of all."""
    info = np.finfo(dtype)
    exponent = max(mp.mag(y) - 1 if y else info.minexp, info.minexp)
    return mp.ldexp(1, int(exponent) - info.nmant)


def error(got, right, dtype, scale=None):
    """In ulp of the exact number, or of `scale` if that is larger; None where the exact number is beyond the dtype."""
    if abs(right) > mpf(float(np.finfo(dtype).max)):
        return None
    if not np.isfinite(got):
        return math.inf
    size = abs(right) if scale is None else max(abs(right), mpf(scale))
    return float(abs(mpf(float(got)) - right) / unit(size, dtype))


def errors(name, dtype, by=None, order=0, compiled=False, count=1.0):
    """(errors, the points) of an operation, or a derivative of it, in a dtype. The exact numbers are kept for the run.

    count: the share of the usual number of points, or several, of which all points are taken together.
    """
    reference = REFERENCES[name]
    counts = count if isinstance(count, tuple) else (count,)
    columns = [np.concatenate(parts) for parts in zip(*[points(reference, dtype, c) for c in counts], strict=True)]
    f = function(name, by, order)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ys = np.asarray((pa.jit(f) if compiled else f)(*columns))
    scale, found, where = reference.scale[order], [], []
    for k, got in enumerate(ys):
        args = tuple(c[k].item() for c in columns)
        right = exact(name, args, by, order)
        if right is None:
            continue
        size = scale(*map(mpf, args)) if callable(scale) else scale
        e = error(got, right, ys.dtype, size)
        if e is not None:
            found.append(e)
            where.append(args)
    return np.array(found), where


def largest(name, dtype, by=None, order=0, compiled=False, count=1.0):
    """(the largest error, where), (None, None) if there is nothing to measure."""
    found, where = errors(name, dtype, by, order, compiled, count)
    if not found.size:
        return None, None
    k = int(np.argmax(found))
    return float(found[k]), where[k]
