"""Operations on bits, against Python's own on whole numbers one by one."""

import operator

import numpy as np
import pytest

import polyad as pa

PAIRS = {
    pa.bitwise_and: operator.and_, pa.bitwise_or: operator.or_, pa.bitwise_xor: operator.xor,
    pa.bitwise_left_shift: operator.lshift, pa.bitwise_right_shift: operator.rshift,
}  # fmt: skip


def wrapped(value, dtype):
    """A whole number as the dtype holds it: the bits beyond are dropped."""
    bits = 8 * np.dtype(dtype).itemsize
    value %= 1 << bits
    return value - (1 << bits) if np.dtype(dtype).kind == "i" and value >> (bits - 1) else value


@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_every_pair_of_corner_values(op, dtype):
    limits = np.iinfo(dtype)
    x = np.array([0, 1, 2, 5, limits.max - 1, limits.max, limits.min, limits.min + 1], dtype)
    y = np.array([0, 1, 3, limits.bits - 1], dtype)
    wanted = [[wrapped(PAIRS[op](int(a), int(b)), dtype) for b in y] for a in x]
    for f in (op, pa.jit(op)):
        found = f(x[:, None], y)
        assert found.dtype == dtype and found.tolist() == wanted


def test_exchanged_bits_of_numbers_and_of_truth_values():
    for dtype in (np.int8, np.uint16):
        x = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        assert pa.bitwise_invert(x).tolist() == [wrapped(~int(v), dtype) for v in x]
    assert pa.bitwise_invert(np.array([True, False])).tolist() == [False, True]
    for op, f in ((pa.bitwise_and, operator.and_), (pa.bitwise_or, operator.or_), (pa.bitwise_xor, operator.ne)):
        found = op(np.array([[True], [False]]), np.array([True, False]))
        assert found.dtype == bool and found.tolist() == [[f(a, b) for b in (True, False)] for a in (True, False)]


@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.__name__)
def test_other_dtypes_are_refused(op):
    with pytest.raises(pa.DTypeError, match=rf"{op.__name__}\(.*float64\[2\]"):
        op(np.ones(2), np.ones(2))
    assert op(np.ones((0, 1), int), np.ones(3, int)).shape == (0, 3)
