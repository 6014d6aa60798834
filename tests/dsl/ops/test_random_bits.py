"""Random bits are those of Philox, by NumPy and by its authors, from both kernels."""

import numpy as np
import pytest

from polyad import random
from polyad.devices.philox import numpy_random_bits, random_bits_kernel, rounds

KEY = random.key(12345)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 5000])
def test_bits_are_those_of_numpys_philox(n):
    for seed in (0, 7, 2**64 - 1, 2**127 + 5):
        words = np.random.Philox(key=seed).random_raw(n)
        np.testing.assert_array_equal(random.random_bits(random.key(seed), 0, shape=(n,)), words)


def test_known_answer_of_the_papers_authors():
    zero = np.zeros((1, 1), np.uint64)
    words = rounds(np, [zero] * 4, zero, zero)
    known = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert [int(word[0, 0]) for word in words] == known


def test_both_kernels_give_the_same_bits():
    keys = np.random.default_rng(0).integers(0, 2**64, (3, 1, 2), np.uint64)
    for args in ((keys, np.arange(4)), (KEY, 2**63), (keys[0, 0], np.int64(-1))):
        for shape in ((), (7,), (2, 3000)):
            for stream in (0, 5):
                arrays = random_bits_kernel(np)(*args, shape, stream)
                np.testing.assert_array_equal(arrays, numpy_random_bits()(*args, shape, stream))
