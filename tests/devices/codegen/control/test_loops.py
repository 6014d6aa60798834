"""Loops in C of each size, with carries of each dtype, against the operations one by one."""

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


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_of_every_size(reverse):
    def f(*starts):
        return [
            pa.scan(lambda c, x: (pa.sin(c) + x, (c * x, x)), c, np.linspace(0, 1, 5), reverse=reverse) for c in starts
        ]  # fmt: skip

    compare(f, *[RNG.normal(size=s) for s in SIZES])


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", "i", "l", "B", "?"])
def test_dtypes_of_carry_and_rows(dtype):
    one = np.ones((), dtype)[()]

    def f(c, big, xs):
        add = lambda a, b: a ^ b if dtype == "?" else a + b
        small = pa.scan(lambda c, x: (add(c, x), (x, c)), c, xs)
        return small, pa.scan(lambda c, x: (add(c, x), c), big, xs)

    compare(f, one, np.ones(70, dtype), RNG.integers(0, 2, 6).astype(dtype))


def test_carries_that_change_places():
    f = lambda a, b, p, q: (
        pa.scan(lambda c, x: ((c[1], c[0] + x), c[0]), (a, b), np.arange(5.0)),
        pa.scan(lambda c, x: ((c[1], c[0] + x), c[0]), (p, q), np.arange(4.0)),
    )
    compare(f, 1.0, 2.0, RNG.normal(size=50), RNG.normal(size=50))


def test_a_carry_that_stays_and_results_that_are_arguments():
    f = lambda a, p: pa.scan(lambda c, x: ((c[0], c[1] * x), (c[0], x, 1.0)), (p, a), np.arange(1.0, 4.0))
    compare(f, 2.0, RNG.normal(size=50))


def test_no_steps():
    f = lambda c, p, xs: (pa.scan(lambda c, x: (c + x, c), c, xs), pa.scan(lambda c, x: (c + x, c), p, xs))
    compare(f, 1.0, RNG.normal(size=50), np.zeros(0))
    compare(lambda x: pa.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] * 2), (0, x)), RNG.normal(size=50))


def test_rows_of_rows():
    inner = lambda s, row: pa.scan(lambda c, y: (pa.tanh(c + y), c), s, row)
    f = lambda s, xs: pa.sum(pa.scan(lambda s, row: inner(s, row), s, xs)[1] ** 2)
    for shape in SIZES[:3]:
        compare(pa.value_and_grad(f, (0, 1)), RNG.normal(size=shape), RNG.normal(size=(4, 3)))


def test_loops_inside_loops():
    halve = lambda x: pa.while_loop(lambda e: pa.sum(e) > 2, lambda e: e / 2, x)
    f = lambda x, xs: pa.scan(lambda c, a: (pa.fori_loop(0, 3, lambda i, d: halve(d + i * a), c), c), x, xs)
    for shape in SIZES[:3]:
        compare(f, RNG.normal(size=shape), RNG.normal(size=6))
