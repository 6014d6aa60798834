"""Functions that are run again must do the same again: values that escape, other results, changed arrays."""

import numpy as np
import pytest

import polyad as pa

x = np.random.default_rng(0).standard_normal(3)


def test_a_value_that_escapes():
    kept = []

    def f(v):
        kept.append(pa.sin(v))
        return kept[-1] * 2

    with pytest.raises(pa.LeakedLayerError, match=r"checkpoint\(f\): a value computed inside was used outside"):
        pa.grad(lambda x: pa.sum(pa.checkpoint(f)(x) + kept[-1]))(x)


def test_a_function_that_does_something_else():
    calls = []

    def f(v):
        calls.append(1)
        return (pa.sin(v), v * 2) if len(calls) == 1 else (pa.sin(v),)

    with pytest.raises(pa.MutationError, match=r"checkpoint\(f\): it did not do the same when it ran again"):
        pa.grad(lambda x: pa.sum(pa.stack(list(pa.checkpoint(f)(x)))))(x)
    calls.clear()

    def g(v):
        calls.append(1)
        return pa.exp(pa.sin(v) if len(calls) == 1 else pa.cos(v))

    with pytest.raises(pa.MutationError, match="cos was called where sin was in the first run"):
        pa.grad(lambda x: pa.sum(pa.checkpoint(g, policy=pa.policies.operations("exp"))(x)))(x)


def test_values_that_change():
    def f(v):
        v[0] = 1.0
        return v

    with pytest.raises(pa.MutationError, match="changed one of its arguments"):
        pa.grad(lambda x: pa.sum(pa.checkpoint(f)(x)))(x)

    def outside(x):
        factor = x * 2
        y = pa.checkpoint(lambda v: v * factor)(x)
        factor += 1
        return pa.sum(y)

    with pytest.raises(pa.MutationError, match="did not do the same"):
        pa.grad(outside)(x)
    data = np.ones(3)
    with pa.debug_mutation(), pytest.raises(pa.MutationError, match=r"checkpoint\(<lambda>\): an array"):
        y, pull = pa.vjp(lambda x: pa.checkpoint(lambda v, d: pa.sin(v) * d)(x, data), x)
        data[0] = 5.0
        pull(y)
