"""Temporaries of a row lie where others lay that are not read any more, and only these."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.source import Source
from polyad.dsl.ir.passes import optimized

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(5)
X = RNG.normal(size=(64, 512))


def softened(x):
    e = pa.exp(x - pa.max(x, axis=1, keepdims=True))
    return e / pa.sum(e, axis=1, keepdims=True)


def several(x):
    """Each pass reads what the one before made."""
    for _ in range(3):
        x = pa.exp(pa.sin(x) - pa.mean(x, axis=1, keepdims=True))
    return x


def turned(x):
    """The second pass reads other elements than it writes."""
    e = pa.exp(x - pa.mean(x, axis=1, keepdims=True))
    y = pa.exp(-e[:, ::-1] / pa.sum(e, axis=1, keepdims=True))
    return y / pa.sum(y, axis=1, keepdims=True)


def kept(x):
    """What the first pass made is read after the second one."""
    e = pa.exp(x - pa.mean(x, axis=1, keepdims=True))
    y = pa.exp(-e / pa.sum(e, axis=1, keepdims=True))
    return (y + e) / pa.sum(y, axis=1, keepdims=True)


def normalized(x):
    centred = x - pa.mean(x, axis=-1, keepdims=True)
    return pa.softmax(centred / pa.sqrt(pa.mean(centred * centred, axis=-1, keepdims=True) + 1e-5), axis=-1)


def rows_of(f, x):
    """How many temporaries as long as a row the program has within its rows."""
    return sum(len(re.findall(rf"t\d+\[{x.shape[1]}\] __attribute__", text)) for text in pa.jit.source(f))


@pytest.mark.parametrize(("f", "most"), [(softened, 1), (several, 1), (turned, 2), (kept, 2), (normalized, 1)])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_rows_in_the_memory_of_others(f, most, dtype):
    x, compiled = X.astype(dtype), pa.jit(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13 if dtype == "d" else 2e-5)
    assert rows_of(compiled, x) <= most
    assert rows_of(compiled, x) > 0 or f is several


@pytest.mark.parametrize("f", [softened, several, turned, kept, normalized])
def test_their_gradients(f):
    loss = lambda x: pa.sum(f(x) ** 2 * X)
    np.testing.assert_allclose(pa.jit(pa.grad(loss))(X), pa.grad(loss)(X), rtol=1e-11, atol=1e-14)


def test_planning_takes_a_time_that_grows_with_the_number_of_results(calls):
    """They share a pass, to which one is added after the other."""

    def planned(count):
        program = optimized(pa.make_ir(lambda x: [pa.sin(x) * k for k in range(2, count + 2)])(np.ones(50)))
        return calls(lambda: Source(program.equations, program.inputs, program.outputs, {}, {}))

    planned(2)
    assert planned(60) < 2.5 * planned(30)
