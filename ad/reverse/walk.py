"""The walk back over a tape: from the cotangents of results to those of the inputs."""

from typing import Any

import numpy as np

from ...dispatch import Layer, innermost_run, isa, open_runs, watchers
from ...dsl import add
from ...dsl.debug.nans import checking
from ...dsl.layers.tracing import Traced, TraceRun
from ...dsl.ops.create import zeros_like
from ..rules.nan_safe import Once, carefully, may_repeat
from ..rules.ownership import Own
from ..rules.residuals import parts_of, total

FEW_ELEMENTS = 4096  # elements, up to which a reduction costs more for the call than for the data


def walk(run, tape, seeds, inputs):
    """Cotangents of the inputs, the first nodes, from pairs (place, cotangent); None where an input has none. tape: that of the
    run, or another view of it."""
    cts: list[Any] = [None] * len(tape)
    own = Own()
    if run.tangents:
        own.tangents = inputs
    last = -1
    for index, ct in seeds:
        cts[index] = ct if cts[index] is None else add(cts[index], ct)
        last = max(last, index)
    for index in run.required:
        y = tape[index][2]
        if cts[index] is None:
            cts[index] = [None] * len(y) if type(y) is tuple else zeros_like(y)
        last = max(last, index)
    for index in range(last, inputs - 1, -1):
        ct = cts[index]
        if ct is None:
            continue
        node = tape[index]
        cts[index] = None  # its memory is free from here on
        vjp, xs, y, parent = node
        if type(parent) is int:
            c = vjp(ct, y, *xs)
            if c is not None:
                cts[parent] = c if cts[parent] is None else total(cts, own, parent, c)
            continue
        if type(vjp) is not tuple:
            vjp.hand_on(cts, own, ct, y, xs, parent)
            continue
        ct = tuple(ct) if type(ct) is list else ct
        for rule, place in zip(vjp, parent):  # noqa: B905  equal by construction, and hot
            c = rule(ct, y, *xs)
            if c is not None:
                cts[place] = c if cts[place] is None else total(cts, own, place, c)
    return cts[:inputs]


def nan_safe_walk(walk, again):
    """The cotangents of a walk back, `walk()`: by plain products; where those lost something, by the careful ones.

    again: () -> whether it may be walked a second time.
    """
    if watchers and checking() and again():  # debug_nans looks for NaN that stay
        return carefully(walk)
    if innermost_run() is not None and any([isinstance(run, TraceRun) for run in open_runs()]):
        return carefully(walk)  # in a trace there are no numbers to ask
    token = may_repeat.set(again)
    try:
        cts = walk()
        for ct in cts:
            if _has_nan(ct):
                break
        else:
            return cts
        if not again():
            return cts
    except Once:
        pass
    finally:
        may_repeat.reset(token)
    return carefully(walk)


def _has_nan(x):
    """Return whether a cotangent, a value of layers too, has NaN somewhere; a trace does not ask."""
    kind = type(x)
    if kind is np.float64:
        return x != x
    if kind is np.ndarray:
        if not x.size:
            return False
        # NaN if there is one, in one pass without a temporary; of few elements the first way takes a third of the time
        least = x.item(x.argmin()) if x.size < FEW_ELEMENTS else np.minimum.reduce(x, axis=None)
        return bool(least != least)
    if isinstance(x, Traced):
        return False
    if parts_of(x):
        return any([_has_nan(part) for part in parts_of(x)])
    if isinstance(x, Layer):
        return any([_has_nan(part) for part in x.parts()])
    if isa(x, np.generic):
        return bool(x != x)
    return hasattr(x, "__array_namespace__") and bool(x.__array_namespace__().any(x != x))
