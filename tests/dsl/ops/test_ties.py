"""Equal values: which pairs are equal up to rounding, and where a slope is lost, against loops over the pairs."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ops.ties import ROUNDING, counted, lost_back, somewhere, sum_or_none, tied, tied_pairs, unsymmetric

EPS = np.finfo(float).eps


def pairs_of(s):
    """As the docstring says, for one row."""
    n, size = len(s), max(abs(s))
    return np.array([[abs(s[i] - s[j]) <= n * np.finfo(s.dtype).eps * size for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gap", [0.0, 0.5, 2.9, 3.5, 100.0])
def test_pairs_up_to_rounding(dtype, gap):
    eps = np.finfo(dtype).eps
    s = np.array([[1.0, 2.0, 2.0 * (1 + gap * eps)], [5.0, -5.0, 0.0], [0.0, 0.0, 0.0]], dtype)
    expected = np.array([pairs_of(row) for row in s])
    np.testing.assert_array_equal(tied(s), expected)
    apart = tied_pairs(s)
    np.testing.assert_array_equal(apart, expected & ~np.eye(3, dtype=bool))
    assert expected[0, 1, 2] == (gap < 3) and expected[2].all() and not apart[1].any()


def test_pairs_that_differ_are_none():
    assert tied_pairs(np.array([1.0, 2.0, 3.0])) is tied_pairs(np.array([4.0])) is tied_pairs(np.zeros((2, 0))) is None
    assert tied_pairs(np.array([[1.0, 2.0], [3.0, 3.0]])).any(axis=(1, 2)).tolist() == [False, True]


def test_a_trace_cannot_know():
    seen = []

    def f(s):
        seen.append(tied_pairs(s))
        return s

    pa.make_ir(f)(np.array([1.0, 2.0]))
    assert seen[0] is not None and somewhere(seen[0])
    assert not somewhere(np.zeros(3, bool)) and somewhere(np.array([False, True]))
    pa.vmap(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert seen[1] is None


def test_more_than_rounding():
    a = np.array([[3.0, 1.0], [1.0, -2.0]])
    bound = 3.0 * ROUNDING * 2 * EPS
    np.testing.assert_array_equal(counted(np.array([[0.9, 1.1], [-0.9, -1.1]]) * bound, a), [[False, True], [False, True]])
    np.testing.assert_array_equal(counted(np.array([[1.9, 2.1]] * 2) * bound, a, -a), [[False, True]] * 2)


def test_what_is_not_hermitian():
    rng = np.random.default_rng(2)
    c = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    h = c + c.conj().T
    assert not unsymmetric(h, h).any() and unsymmetric(c, c).sum() == 9
    h[0, 1] += 1e-3
    np.testing.assert_array_equal(unsymmetric(h, h), [[False, True, False], [True, False, False], [False] * 3])


def test_what_is_lost_on_the_way_back():
    s, n = np.array([1.0, 1.0, 2.0, 2.0]), 4
    pairs = tied_pairs(s)
    ct, column = np.array([0.0, 1.0, 0.0, 0.0]), np.zeros((4, 4))
    column[3, 2] = 0.5  # of the third vector
    read = (ct != 0) | (column != 0).any(axis=0)
    expected = np.array([[pairs[i, j] and read[i] for j in range(n)] for i in range(n)])
    refuse = lambda: pytest.fail("asked for the turn")
    np.testing.assert_array_equal(lost_back(pairs, ct, [column], refuse), expected)
    assert lost_back(None, ct, [column], refuse) is lost_back(pairs, ct, [], refuse) is None
    turn = np.arange(16).reshape(4, 4) % 3 == 0
    np.testing.assert_array_equal(lost_back(pairs, None, [column], lambda: turn), pairs & turn)


@pytest.mark.parametrize(("x", "y"), [*itertools.product([None, np.ones(2)], repeat=2)])
def test_sums_where_something_is_missing(x, y):
    found, there = sum_or_none(x, y), [v for v in (x, y) if v is not None]
    assert found is None if not there else np.array_equal(found, np.sum(there, axis=0))
