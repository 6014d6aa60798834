"""How an operation acts on lanes, which are axis 0 of its arrays: its own rule, or one for all of its kind."""

import warnings

from ...dispatch import PerformanceWarning
from ..avals import ndim_of, normalize_axis, shape_of
from ..ops.shape import reshape, stack


def batch_rule(generic):
    """Return the rule by which an operation acts on lanes: its own rule, or what its kind implies, or a loop with a warning."""
    card = generic.card
    rule = card.rules.get("batch")
    if rule is not None:
        return rule
    if card.kind == "elementwise":
        return _elementwise_rule(generic.function)
    if card.kind == "reduction":
        return _reduction_rule(generic.function)
    return _loop_rule(generic)


def _elementwise_rule(function):
    def rule(size, xs, batched, **params):
        most = max([ndim_of(x) - b for x, b in zip(xs, batched, strict=True)])
        return function(*[_pad(x, most) if b else x for x, b in zip(xs, batched, strict=True)], **params)

    return rule


def _pad(x, ndim):
    """Axes of length 1 after the lanes, so that lanes of fewer axes broadcast as they would alone."""
    shape = shape_of(x)
    if len(shape) - 1 == ndim:
        return x
    return reshape(x, shape=(shape[0], *(1,) * (ndim - len(shape) + 1), *shape[1:]))


def _reduction_rule(function):
    name = function.card.name

    def rule(size, xs, batched, axis=None, **params):
        (x,) = xs
        ndim = ndim_of(x) - 1
        axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
        return function(x, axis=tuple(normalize_axis(name, a, ndim) + 1 for a in axes), **params)

    return rule


def _loop_rule(generic):
    spread = generic.spread

    def rule(size, xs, batched, **params):
        warnings.warn(
            f"{generic.name} has no batch rule: vmap runs it lane by lane; add @{generic.name}.rule('batch')",
            PerformanceWarning,
            stacklevel=3,
        )
        lanes = [spread(*[x[i] if b else x for x, b in zip(xs, batched, strict=True)], **params) for i in range(size)]
        return stack(lanes)

    return rule
