"""Comparisons, logic and tests of numbers, against Python's own on one number at a time."""

import cmath
import math
import operator

import numpy as np
import pytest

import polyad as pa

NUMBERS = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]
COMPARED = {
    pa.equal: operator.eq, pa.not_equal: operator.ne, pa.less: operator.lt, pa.less_equal: operator.le,
    pa.greater: operator.gt, pa.greater_equal: operator.ge,
}  # fmt: skip
LOGIC = {
    pa.logical_and: lambda a, b: bool(a) and bool(b), pa.logical_or: lambda a, b: bool(a) or bool(b),
    pa.logical_xor: lambda a, b: bool(a) != bool(b),
}  # fmt: skip


@pytest.mark.parametrize("op", [*COMPARED, *LOGIC], ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [float, np.float16, int, bool])
def test_every_pair(op, dtype):
    values = np.array(NUMBERS if np.dtype(dtype).kind == "f" else [0, 1, -3, 7]).astype(dtype)
    wanted = [[({**COMPARED, **LOGIC})[op](a, b) for b in values.tolist()] for a in values.tolist()]
    for f in (op, pa.jit(op), pa.vmap(op, in_axes=(0, None))):
        found = f(values[:, None], values)
        assert found.dtype == bool and found.tolist() == wanted
    assert op(values[:0, None], values).shape == (0, len(values))


@pytest.mark.parametrize("op", [pa.isnan, pa.isinf, pa.isfinite, pa.logical_not], ids=lambda op: op.__name__)
def test_every_number(op):
    of_one = {"isnan": cmath.isnan, "isinf": cmath.isinf, "isfinite": cmath.isfinite, "logical_not": lambda z: not z}
    pairs = np.array([complex(a, b) for a in NUMBERS for b in NUMBERS])
    for x in (np.array(NUMBERS), pairs):
        for f in (op, pa.jit(op)):
            assert f(x).tolist() == [of_one[op.__name__](z) for z in x.tolist()]


def test_the_branch_not_taken_has_slope_zero_even_where_its_own_is_none():
    x = np.array([0.0, 4.0, -1.0])
    safe = lambda x: pa.sum(pa.where(x > 0, pa.sqrt(pa.where(x > 0, x, 1.0)), 3.0 * x))
    bare = lambda x: pa.sum(pa.where(x > 0, x * x, 3.0 * x))
    for form in (pa.grad, lambda f: pa.jit(pa.grad(f)), pa.jacfwd):
        np.testing.assert_array_equal(form(safe)(x), [3.0, 0.25, 3.0])
        np.testing.assert_array_equal(form(bare)(x), [3.0, 8.0, 3.0])
    by_each = pa.grad(lambda a, b: pa.sum(pa.where(np.array([True, False]), a, b)), argnums=(0, 1))(np.ones(2), np.float64(5.0))
    np.testing.assert_array_equal(by_each[0], [1.0, 0.0])
    assert by_each[1] == 1.0
    assert pa.where(True, np.float32(1), 2.0).dtype == np.float32
    assert pa.where(np.ones(3, bool), np.ones((2, 1)), 1j).dtype == complex
