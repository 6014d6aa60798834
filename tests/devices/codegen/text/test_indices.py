"""Affine positions: their arithmetic by Python's numbers, places in memory by NumPy's strides and broadcasting."""

import random

import numpy as np
import pytest

from polyad.devices.codegen.text.indices import ZERO, Buffer, Index, aligned, contiguous, points

NAMES = ("i0", "i1", "p")


def random_index(rng):
    return Index(rng.randint(-4, 4), [(n, rng.randint(-3, 3)) for n in rng.sample(NAMES, rng.randint(0, 3))])


def value(index, at):
    """What the text says, by Python, which reads these sums as C does."""
    return eval(index.text(str), {}, at)


@pytest.mark.parametrize("seed", range(40))
def test_arithmetic(seed):
    rng = random.Random(seed)
    a, b, k = random_index(rng), random_index(rng), rng.randint(-3, 3)
    at = {n: rng.randint(-9, 9) for n in NAMES}
    va, vb = value(a, at), value(b, at)
    assert va == a.const + sum(a.coefficient(n) * at[n] for n in NAMES)
    assert value(a + b, at) == va + vb and value(a + k, at) == va + k and value(a * k, at) == va * k
    assert value(a.without({"p"}), at) == value(a, {**at, "p": 0}) and "p" not in a.without({"p"}).names
    assert a + b == b + a and hash(a + b) == hash(b + a) and a + b * -1 + a * -1 + b == ZERO
    assert set(a.names) == {n for n in NAMES if a.coefficient(n)}
    assert "+ -" not in a.text(str) and "--" not in a.text(str)


def test_names_in_the_text():
    assert Index(3, [("i", 1), ("j", -2)]).text(str.upper) == "I + -2 * J + 3".replace("+ -", "- ")
    assert Index().text(str) == "0" and Index(-2).text(str) == "-2" and Index(0, [("i", 0)]) == ZERO != 0


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (4, 1, 5), (2, 0, 3)])
def test_memory_in_order(shape):
    x = np.zeros(shape, np.int8)
    if x.size:
        assert all(s == t for s, t, n in zip(contiguous(shape), x.strides, shape, strict=True) if n > 1)
    places = [Buffer("x", x.dtype, shape).at(p) for p in points(shape)]
    assert [p.const for p in places] == list(range(x.size)) and not any(p.terms for p in places)


@pytest.mark.parametrize("seed", range(10))
def test_memory_with_strides(seed):
    rng = random.Random(seed)
    strides, idx = tuple(rng.randint(0, 30) for _ in range(3)), [random_index(rng) for _ in range(3)]
    at = {n: rng.randint(0, 9) for n in NAMES}
    found = Buffer("x", None, (9, 9, 9), strides).at(idx)
    assert value(found, at) == sum(s * value(i, at) for s, i in zip(strides, idx, strict=True))


@pytest.mark.parametrize(
    ("shape", "whole"), [((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 1), (4, 5)), ((2, 3), (2, 3))]
)
def test_broadcast_arrays_are_read_where_numpy_reads_them(shape, whole):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    spread = np.broadcast_to(x, whole)
    for p in points(whole):
        place = aligned(p, shape)
        assert len(place) == len(shape)
        assert x[tuple(i.const for i in place)] == spread[tuple(i.const for i in p)]
