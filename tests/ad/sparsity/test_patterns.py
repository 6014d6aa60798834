"""Sets of inputs, one per element: each combination against the same one of dense masks, or of Python's sets."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from polyad.ad.sparsity import patterns
from polyad.ad.sparsity.patterns import (
    along_letters,
    broadcast,
    csr,
    grouped,
    no_dependence,
    related,
    rows,
    stacked,
    through_constant,
    union,
    units,
)

COLUMNS = 7


def some(size, seed=0, density=0.3):
    mask = np.random.default_rng(seed).random((size, COLUMNS)) < density
    return sp.csr_array(mask), mask


def same(found, expected):
    assert found.dtype == bool and found.shape == expected.shape and found.nnz == expected.sum()  # none twice
    np.testing.assert_array_equal(found.toarray(), expected)


def test_nothing_and_units():
    same(no_dependence(3, 5), np.zeros((3, 5), bool))
    same(units(3, 2, 6), np.eye(6, dtype=bool)[2:5])
    same(units(0, 0, 2), np.zeros((0, 2), bool))


@pytest.mark.parametrize("numbers", [[], [2], [0, 0, 3], [-1, 4, -1], [4, 3, 2, 1, 0]])
def test_rows(numbers):
    sets, mask = some(5)
    numbers = np.array(numbers, int)
    same(rows(sets, numbers), np.where((numbers < 0)[:, None], False, mask[numbers]))
    same(rows(no_dependence(0, COLUMNS), np.full(2, -1)), np.zeros((2, COLUMNS), bool))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_unions_of_groups(count, seed):
    sets, mask = some(12, seed)
    groups = np.random.default_rng(seed).integers(-1, count, 12)
    expected = np.array([mask[groups == g].any(axis=0) for g in range(count)])
    same(grouped(sets, groups, count), expected)
    same(grouped(sets, np.zeros(12, int), 1), mask.any(axis=0)[None])
    pairs = np.random.default_rng(seed).integers(0, (count, 12), (9, 2))
    expected = np.zeros((count, COLUMNS), bool)
    for result, element in pairs:
        expected[result] |= mask[element]
    same(related(sets, *pairs.T, count), expected)


def test_one_after_the_other_and_together():
    (a, dense), (b, other) = some(3, 1), some(2, 2)
    same(stacked([(a, 3), (None, 2), (b, 2)], COLUMNS), np.concatenate([dense, np.zeros((2, COLUMNS), bool), other]))
    same(stacked([(None, 4)], COLUMNS), np.zeros((4, COLUMNS), bool))
    assert stacked([(a, 3)], COLUMNS) is a is union(a, a) is union(None, a) is union(a, None)
    c, third = some(3, 3)
    same(union(a, c), dense | third)


@pytest.mark.parametrize(("shape", "result"), [((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((2, 3), (2, 3)), ((1,), (0,))])
def test_broadcast(shape, result):
    sets, mask = some(int(np.prod(shape)))
    spread = np.broadcast_to(mask.reshape(*shape, COLUMNS), (*result, COLUMNS))
    same(broadcast(sets, shape, result), spread.reshape(-1, COLUMNS))
    live = np.random.default_rng(4).random(result) < 0.5
    same(broadcast(sets, shape, result, live), (spread & live[..., None]).reshape(-1, COLUMNS))


def by_letters(mask, letters, shape, result_letters, result):
    """What the docstring says, one element of the result and one of the argument at a time."""
    lead, mask, found = len(shape) - len(letters), mask.reshape(*shape, COLUMNS), np.zeros((*result, COLUMNS), bool)
    for out in np.ndindex(result):
        at = dict(zip(result_letters, out[len(out) - len(result_letters) :], strict=True))
        for place in np.ndindex(shape):
            agrees = all(
                i == (o if n > 1 else 0) for i, o, n in zip(place[:lead], out[len(out) - len(result_letters) - lead :], shape)
            )
            for letter, i in zip(letters, place[lead:], strict=True):
                if letter.lower() in at:
                    agrees &= i <= at[letter.lower()] if letter.isupper() else i == at[letter]
            if agrees:
                found[out] |= mask[place]
    return found.reshape(-1, COLUMNS)


LETTERS = [
    ("ij", (2, 3), "ij", (2, 3)), ("ij", (2, 3), "ji", (3, 2)), ("ij", (2, 3), "ik", (2, 4)), ("ij", (2, 3), "j", (3,)),
    ("ij", (2, 3), "", ()), ("i", (3,), "ki", (2, 3)), ("I", (4,), "i", (4,)), ("Ij", (3, 2), "ij", (3, 2)),
    ("jI", (2, 3), "ij", (3, 2)), ("I", (3,), "k", (2,)), ("ij", (5, 2, 3), "ik", (5, 2, 2)), ("j", (2, 3), "", (2,)),
    ("ij", (0, 3), "i", (0,)), ("ij", (2, 0), "i", (2,)),
]  # fmt: skip


@pytest.mark.parametrize(("letters", "shape", "result_letters", "result"), LETTERS)
def test_letters(letters, shape, result_letters, result):
    sets, mask = some(int(np.prod(shape)), len(letters))
    same(along_letters(sets, letters, shape, result_letters, result), by_letters(mask, letters, shape, result_letters, result))


def test_a_letter_stands_once():
    with pytest.raises(ValueError, match="the letter 'i' stands twice in 'ii'"):
        along_letters(some(4)[0], "ii", (2, 2), "i", (2,))


@pytest.mark.parametrize("case", [
    ("ij", (2, 3), "jk", (3, 4), "ik", (2, 4)), ("ij", (2, 3), "ij", (2, 3), "ij", (2, 3)),
    ("ij", (2, 1), "ij", (2, 3), "ij", (2, 3)), ("j", (3,), "ij", (2, 3), "i", (2,)),
    ("ij", (5, 2, 3), "jk", (3, 2), "ik", (5, 2, 2)),
    ("i", (3,), "j", (2,), "ij", (3, 2)), ("i", (3,), "i", (3,), "", ()),
])  # fmt: skip
def test_zeros_of_a_constant_are_not_read(case):
    """By `einsum`: numbers of ways from an element of the argument to one of the result."""
    letters, shape, other, other_shape, out, result = case
    sets, mask = some(int(np.prod(shape)))
    constant = np.random.default_rng(6).integers(0, 2, other_shape)
    lead = "z" * (len(shape) - len(letters))
    ways = np.einsum(f"{lead}{letters}c,{other}->{lead}{out}c", mask.reshape(*shape, COLUMNS).astype(int), constant)
    same(through_constant(sets, letters, shape, out, result, constant, other), (ways > 0).reshape(-1, COLUMNS))


def test_patterns_that_are_none(monkeypatch):
    monkeypatch.setattr(patterns, "TOO_MANY", 10)
    sets = sp.csr_array(np.ones((4, 3), bool))
    for call in (lambda: csr(np.zeros(11, int), [0, 11], (1, 1)), lambda: rows(sets, np.arange(4)),
                 lambda: related(sets, np.zeros(11, int), np.zeros(11, int), 1), lambda: related(sets, *[np.arange(4)] * 2, 4),
                 lambda: through_constant(sets, "i", (4,), "j", (3,), np.ones((4, 3)), "ij")):  # fmt: skip
        with pytest.raises(MemoryError, match="every element depend on every input; use products .*jvp, vjp, hvp"):
            call()
    assert list(itertools.chain(*rows(sets, np.arange(3)).toarray())) == [True] * 9
