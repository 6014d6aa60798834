"""Random words for many keys at once are NumPy's Philox, bit for bit: below and above the size from which NumPy's own runs."""

import numpy as np
import pytest

from polyad.devices.philox import FEW_WORDS, MULTIPLIERS, numpy_random_bits, random_bits_kernel, wide_product

rng = np.random.default_rng(11)
by_arrays, by_either = random_bits_kernel(np), numpy_random_bits()
WORDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, *rng.integers(0, 2**64, 200, np.uint64)], np.uint64)


def reference(key, data, n, stream):
    counter = np.array([0, int(data) % 2**64, 0, stream], np.uint64)
    return np.random.Philox(key=np.asarray(key, np.uint64), counter=counter).random_raw(n)


@pytest.mark.parametrize("m", [*MULTIPLIERS, 0, 1, 2**64 - 1])
def test_products_of_128_bits(m):
    high, low = wide_product(WORDS, m)
    whole = [int(x) * m for x in WORDS]
    assert [int(x) for x in high] == [p >> 64 for p in whole] and [int(x) for x in low] == [p % 2**64 for p in whole]


@pytest.mark.parametrize("kernel", [by_arrays, by_either])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 101, FEW_WORDS - 1, FEW_WORDS, FEW_WORDS + 3])
def test_the_words_of_one_key(kernel, n):
    key = rng.integers(0, 2**64, 2, np.uint64)
    for data, stream in ((0, 0), (1, 2), (2**63 + 5, 1), (-1, 0)):
        given = np.asarray(data % 2**64, np.uint64)
        np.testing.assert_array_equal(kernel(key, given, (n,), stream), reference(key, data, n, stream))


@pytest.mark.parametrize("kernel", [by_arrays, by_either])
@pytest.mark.parametrize("n", [7, FEW_WORDS + 1])
@pytest.mark.parametrize(("lead", "data"), [((5,), ()), ((), (5,)), ((2, 1), (3,)), ((1,), (1, 1))])
def test_keys_and_numbers_broadcast(kernel, n, lead, data):
    keys, numbers = rng.integers(0, 2**64, (*lead, 2), np.uint64), rng.integers(0, 2**64, data, np.uint64)
    found, shape = kernel(keys, numbers, (n, 2), 3), np.broadcast_shapes(lead, data)
    assert found.shape == (*shape, n, 2) and found.dtype == np.uint64
    keys, numbers = np.broadcast_to(keys, (*shape, 2)), np.broadcast_to(numbers, shape)
    for at in np.ndindex(shape):
        np.testing.assert_array_equal(found[at].ravel(), reference(keys[at], numbers[at], 2 * n, 3))


@pytest.mark.parametrize("kernel", [by_arrays, by_either])
def test_one_word_has_no_axis(kernel):
    key = np.array([7, 0], np.uint64)
    assert np.shape(kernel(key, 0)) == () and kernel(key, 0) == reference(key, 0, 1, 0)[0]
