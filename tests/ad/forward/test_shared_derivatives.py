"""Forward over reverse of large arrays: each function is computed once, and derivatives are those of small ones."""

from collections import Counter

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


@pytest.fixture
def ran(monkeypatch):
    """How often NumPy's functions have run for sin, cos and tanh."""
    found = Counter()
    for name in ("sin", "cos", "tanh"):
        generic = operations[name].generic
        generic.clear()
        count = lambda x, name=name: found.update([name]) or getattr(np, name)(x)
        generic.function(np.ones(3))  # so that the entry has its kernel
        monkeypatch.setitem(generic.namespace, "__kernel", count)
    return found


F = lambda x: pa.sum(pa.tanh(pa.sin(x) * x))


@pytest.mark.parametrize(("size", "times"), [(4096, 1), (4095, 2)])
def test_hvp_computes_each_function_once(ran, size, times):
    """Of large arrays: the slope that forward mode needs is the one that the walk back asks for."""
    x = np.linspace(-1.0, 1.0, size)
    found = pa.hvp(F, x, x)
    assert ran["cos"] == times and ran["sin"] >= times
    if times == 1:
        assert ran == {"sin": 1, "cos": 1, "tanh": 1}
    s, c, p = np.sin(x), np.cos(x), np.sin(x) * x
    one, two = s + x * c, 2 * c - x * s  # slopes of x sin x
    close(found, ((1 - np.tanh(p) ** 2) * (two - 2 * np.tanh(p) * one**2)) * x, rtol=1e-11, atol=1e-13)


def test_in_forward_mode_alone_nothing_is_kept(ran):
    """There is no tape that would ask again: each call computes, and the array may be given back."""
    x = np.linspace(0.0, 1.0, 5000)
    pa.jvp(lambda x: pa.sin(x) * pa.sin(x), (x,), (x,))
    assert ran["sin"] == 2


def test_a_kept_value_ends_with_its_run():
    kept = []
    x = np.linspace(0.0, 1.0, 5000)
    pa.jvp(pa.grad(lambda x: kept.append(x) or F(x)), (x,), (x,))
    for f in (pa.sin, pa.tanh):
        with pytest.raises(pa.LeakedLayerError):
            f(kept[0])


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "arcsin", "erf", "reciprocal", "square", "gammaln", "cosh", "log1p"])
def test_large_arrays_have_the_derivatives_of_small_ones(name):
    """Where a tape inside forward mode shares the values of functions (from 4096 elements on)."""
    f, x = getattr(pa, name), np.linspace(0.1, 0.9, 5000)
    loss = lambda x: pa.sum(f(x) * f(x) * x)
    for derivative in (
        lambda x: pa.hvp(loss, x, x),
        lambda x: pa.jvp(lambda x: pa.hvp(loss, x, x), (x,), (x,))[1],
        lambda x: pa.grad(lambda x: pa.sum(pa.jvp(f, (x,), (x,))[1]))(x),
    ):
        parts = [derivative(part) for part in np.split(x, 5)]
        close(derivative(x), np.concatenate(parts), rtol=1e-10)
