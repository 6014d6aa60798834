"""Loops of unknown numbers of steps, whose arrays grow as they run."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


SIZES = [(), (3,), (40,), (600,)]


@pytest.mark.parametrize("shape", SIZES)
def test_while_and_its_gradient(shape):
    shrink = lambda x: pa.while_loop(lambda x: pa.sum(x * x) > 1, lambda x: pa.sin(x) * 0.9, x)
    x = RNG.normal(size=shape) + 1
    compare(shrink, x)
    compare(pa.grad(lambda x: pa.sum(shrink(x))), x)


def test_many_steps_of_unknown_number():
    count = lambda x: pa.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * pa.cos(s[1])), (0, x))[1]
    compare(pa.grad(count), 0.3)
    compare(pa.grad(lambda x: count(x * -1.0)), 0.0)


def test_forward_and_backward_compiled_apart():
    shrink = pa.jit(lambda x: pa.while_loop(lambda x: x > 1, lambda x: pa.sin(x) * x / 2, x))
    for x in (9.0, 0.5):  # and without a step
        plain = pa.grad(lambda x: pa.while_loop(lambda x: x > 1, lambda x: pa.sin(x) * x / 2, x))(x)
        np.testing.assert_allclose([pa.grad(shrink)(x), pa.jit(pa.grad(shrink))(x)], [plain, plain], rtol=1e-12)
