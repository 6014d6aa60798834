"""Programs that call themselves, deeper than the stack too."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
compare = comparing.compare

RNG = np.random.default_rng(0)


@pa.jit
def factorial(r, x):
    return pa.cond(x <= 1, lambda: r, lambda: factorial(r * x, x - 1))


@pa.jit
def fibonacci(n):
    return pa.cond(n < 2, lambda: n, lambda: fibonacci(n - 1) + fibonacci(n - 2))


@pa.jit
def total(n, x):
    return pa.cond(n <= 0, lambda: x, lambda: total(n - 1, x + n))


def test_recursion():
    assert float(factorial(1.0, 5.0)) == 120
    compare(lambda x: factorial(1.0, x), 6.5)
    compare(pa.grad(lambda x: factorial(1.0, x)), 6.5)
    compare(lambda n: fibonacci(n) + fibonacci(n + 1), np.int64(10))
    compare(lambda xs: pa.scan(lambda c, x: (factorial(1.0, x) - c, c), 0.0, xs)[1], np.arange(7.0))
    compare(lambda x: total(3, x), RNG.normal(size=5))


def test_recursion_deeper_than_the_stack_goes_on():
    assert float(total(30_000, 0.5)) == 30_000 * 30_001 / 2 + 0.5
