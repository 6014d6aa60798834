"""Kernels of `random_bits`: Philox4x64-10 for many keys at once on any NumPy-like library, and NumPy's own for one.

The numbers are the same, bit for bit: all arithmetic is that of unsigned 64-bit integers.
"""

import math

import numpy as np

from ..dsl.ops.random_bits import check_key

WORD = np.uint64
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)  # of the key from round to round
LOW, HALF_BITS = WORD(0xFFFFFFFF), WORD(32)
FEW_WORDS = 2048  # per key, from which NumPy's own loop is faster than ten rounds over whole arrays


def random_bits_kernel(xp):
    """The kernel for a NumPy-like library, on the device that is current."""

    def random_bits(key, data, shape=(), stream=0):
        lead, n = check_key("random_bits", key), math.prod(shape)
        data = xp.asarray(data).astype(WORD)
        lead = np.broadcast_shapes(lead, data.shape)
        m = math.prod(lead)
        k0, k1 = [xp.broadcast_to(key[..., i], lead).reshape(m, 1) for i in (0, 1)]
        data = xp.broadcast_to(data, lead).reshape(m, 1)
        numbers = xp.arange(1, -(-n // 4) + 1, dtype=WORD).reshape(1, -(-n // 4))
        none = xp.zeros((m, numbers.shape[1]), WORD)
        words = rounds(xp, [numbers + none, data + none, none, none + WORD(stream)], k0, k1)
        return xp.stack(words, axis=-1).reshape(m, 4 * numbers.shape[1])[:, :n].reshape((*lead, *shape))

    return random_bits


def rounds(xp, c, k0, k1):
    """Ten rounds of Philox on the four words of the counter."""
    for i in range(10):
        if i:
            k0, k1 = k0 + WORD(STEPS[0]), k1 + WORD(STEPS[1])
        (high0, low0), (high1, low1) = wide_product(c[0], MULTIPLIERS[0]), wide_product(c[2], MULTIPLIERS[1])
        c = [xp.bitwise_xor(xp.bitwise_xor(high1, c[1]), k0), low1,
             xp.bitwise_xor(xp.bitwise_xor(high0, c[3]), k1), low0]  # fmt: skip
    return c


def wide_product(x, m):
    """High and low word of the 128-bit product of x with a number, from products of their halves."""
    x0, x1 = x & LOW, x >> HALF_BITS
    m0, m1 = WORD(m & 0xFFFFFFFF), WORD(m >> 32)
    low, mixed = x0 * m0, x1 * m0
    mixed = mixed + (low >> HALF_BITS)
    middle = x0 * m1 + (mixed & LOW)
    return x1 * m1 + (mixed >> HALF_BITS) + (middle >> HALF_BITS), x * WORD(m)


def numpy_random_bits():
    """The kernel for NumPy arrays: NumPy's generator where there are few keys with many words each."""
    by_arrays = random_bits_kernel(np)

    def random_bits(key, data, shape=(), stream=0):
        lead, n = check_key("random_bits", key), math.prod(shape)
        lead = np.broadcast_shapes(lead, np.shape(data))
        if math.prod(lead) != 1 and n < FEW_WORDS:
            return by_arrays(key, data, shape, stream)
        keys = np.broadcast_to(key, (*lead, 2)).reshape(-1, 2)
        numbers = np.broadcast_to(np.asarray(data).astype(WORD), lead).reshape(-1)
        words = np.empty((len(keys), n), WORD)
        for row, k, number in zip(words, keys, numbers, strict=True):
            row[:] = np.random.Philox(key=k, counter=np.array([0, number, 0, stream], WORD)).random_raw(n)
        return words.reshape((*lead, *shape))[()]

    return random_bits
