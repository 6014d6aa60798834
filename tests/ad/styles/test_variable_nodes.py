"""The record of variables: it lives as long as results need it, is used once, and does not grow."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import polyad as pa
from polyad.ad.styles.variable_nodes import Freed
from polyad.ad.styles.variables import Variable

pytestmark = pytest.mark.quick


close = np.testing.assert_allclose


def test_second_backward():
    x = pa.variable(3.0)
    y = x * x
    y.backward(retain=True)
    y.backward()
    assert x.grad == 12
    with pytest.raises(pa.StructureError, match=r"earlier backward \(at .*test_variable_nodes.py:\d+\).*retain=True.*detach"):
        y.backward()
    with pytest.raises(pa.StructureError, match="given back"):
        (y + 1).backward()  # through the part that is gone
    assert x.grad == 12  # nothing was added


def test_a_failed_backward_keeps_the_record():
    x = pa.variable(np.ones(2))
    y = x * 2
    with pytest.raises(pa.ShapeError):
        y.backward(np.ones(3))
    y.backward(np.ones(2))
    close(x.grad, [2, 2])


def test_no_variable_behind():
    x = pa.variable(2.0)
    assert not isinstance(pa.stop_gradient(x), Variable) and not isinstance(x > 1, Variable)
    with pytest.raises(pa.StructureError, match="no variable is behind"):
        pa.zeros_like(x).backward()


def test_recurrent_value_is_detached():
    w, h = pa.variable(0.5), 1.0
    for _ in range(3):
        h = pa.sin(w * h)
        h.backward()
        h = h.detach()
    assert not isinstance(h, Variable)
    carried = pa.sin(w * 1.0)
    carried.backward()
    with pytest.raises(pa.StructureError, match="carried from step to step"):
        pa.sin(w * carried).backward()


def test_training_does_not_grow():
    x = pa.variable(np.full(2000, 3.0))
    target = np.linspace(0, 1, 2000)
    loss = None
    tracemalloc.start()
    for step in range(1000):
        loss = pa.mean((pa.tanh(x) - target * 0.5) ** 2)
        loss.backward()
        with pa.no_grad():
            x -= 500.0 * x.grad
        x.zero_grad()
        if step == 50:
            before = tracemalloc.get_traced_memory()[0]
    assert tracemalloc.get_traced_memory()[0] - before < 20_000  # one array has 16 000 bytes
    for _ in range(200):  # results that are never sent backward go too
        loss = pa.mean(pa.tanh(x) ** 2)
    assert tracemalloc.get_traced_memory()[0] - before < 100_000
    tracemalloc.stop()
    close(np.tanh(x.detach()), target * 0.5, atol=1e-3)


def test_record_lives_as_long_as_its_results():
    held = np.ones(5)
    seen = weakref.ref(held)
    x = pa.variable(np.ones(5))
    y = pa.sum(pa.sin(x) * held)
    del held
    assert seen() is not None
    y.backward()
    assert seen() is None and type(y.index.entry) is Freed
    other = np.ones(5)
    seen = weakref.ref(other)
    z = x * other
    del other, z
    assert seen() is None


def test_long_chains():
    x = pa.variable(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward()
    assert x.grad == 1
    z = x
    for _ in range(20_000):
        z = z + 1.0
    del z  # without recursion
    gc.collect()


def test_values_that_change_meanwhile_are_caught():
    x, a = pa.variable(np.ones(2)), np.ones(2)
    y = pa.sum(x * a)
    a[0] = 5
    with pytest.raises(pa.MutationError, match="was changed after its derivative had kept it"):
        y.backward()
