"""Checksums of arrays: equal for equal elements however they lie, another for any change; small and large ones."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.checksums import BLOCK_WORDS, checksum, layers

rng = np.random.default_rng(8)
SIZES = (1, 2, 9, BLOCK_WORDS - 1, BLOCK_WORDS, BLOCK_WORDS + 1, 2 * BLOCK_WORDS + 3)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "c16", "?"])
def test_each_element_and_its_place_count(size, dtype):
    x = rng.integers(0, 2, size).astype(dtype) if dtype in ("?", "i1") else rng.standard_normal(size).astype(dtype)
    whole = checksum(x)
    assert whole == checksum(x.copy()) == checksum(np.repeat(x, 2)[::2])
    for k in {0, size // 2, size - 1}:
        changed = x.copy()
        changed[k] = not x[k] if dtype == "?" else x[k] + 1
        assert checksum(changed) != whole
    for j, k in ((0, size - 1), (size // 2, size // 3), (0, 1), (0, 256)):
        swapped = x.copy()
        if max(j, k) < size and x[j] != x[k]:
            swapped[[j, k]] = x[[k, j]]
            assert checksum(swapped) != whole, (j, k)


@pytest.mark.parametrize("size", [6, 2 * BLOCK_WORDS])
def test_shape_and_dtype_count(size):
    x = np.zeros(size)
    others = [x.reshape(2, -1), x.reshape(-1, 2), x.astype(np.int64), x[:-1], x.astype(np.complex64), x[:, None]]
    assert len({checksum(x), *map(checksum, others)}) == 1 + len(others)


def test_how_an_array_lies_in_memory_does_not():
    x = rng.standard_normal((30, 40))
    assert checksum(x) == checksum(np.asfortranarray(x)) == checksum(x[::-1].copy()[::-1]) != checksum(x.T)
    assert checksum(np.empty((0, 3))) != checksum(np.empty((3, 0)))


def test_halves_that_change_places():
    """Sums alone do not tell blocks from each other, nor rows within one."""
    x = rng.integers(0, 9, 2 * BLOCK_WORDS)
    assert checksum(np.roll(x, BLOCK_WORDS)) != checksum(x) != checksum(np.roll(x, 256)) != checksum(np.roll(x, 1))


def test_numbers_texts_and_what_has_none():
    assert checksum(2) == checksum(np.asarray(2)) != checksum(2.0) != checksum(True)
    assert checksum("a") != checksum(b"a") and checksum("a") == checksum("a")
    assert checksum(None) is checksum([1]) is checksum(np.array([None])) is checksum(checksum) is None


def test_values_under_transformations():
    found = []

    def look(x):
        found.append((checksum(x), layers(x)))
        return pa.sum(x * x)

    x = np.array([1.0, 2.0])
    pa.grad(look)(x)
    pa.jvp(pa.grad(look), (x,), (x,))
    assert {mark for mark, _ in found} == {checksum(x)}
    assert [around for _, around in found] == [((1, "Reverse"),), ((2, "Reverse"), (1, "Dual"))] and layers(x) == ()
