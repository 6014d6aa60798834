"""Pieces of arrays: all of it once, in order, and none larger than a message may be."""

import numpy as np
import pytest

from polyad.parallel import pieces as module
from polyad.parallel.pieces import as_table, columns, exceeds, parts_of_blocks, pieces

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 64)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 100])
def test_views_of_all_elements_in_order(size):
    x, y = np.arange(float(size)), np.zeros(size)
    found = list(pieces(x, y))
    assert all(a.nbytes <= 64 and a.size == b.size for a, b in found) and len(found) == max(1, -(-size // 8))
    for a, b in found:
        b[...] = a
    np.testing.assert_array_equal(x, y)
    assert exceeds(x) == (size > 8)


def test_an_item_is_never_split():
    assert [a.size for (a,) in pieces(np.zeros(3, "V100"))] == [1, 1, 1]


@pytest.mark.parametrize(("rows", "width"), [(2, 3), (2, 4), (2, 5), (3, 11), (9, 2), (100, 3)])
def test_columns_of_a_table(rows, width):
    found = list(columns(rows, width, 8))
    assert [k for part in found for k in range(part.start, part.stop)] == list(range(width))
    assert all((part.stop - part.start) * rows * 8 <= max(64, rows * 8) for part in found)
    assert as_table(np.zeros((rows, width, 2))).shape == (rows, 2 * width)


@pytest.mark.parametrize("lengths", [(3, 3), (0, 9), (5, 0, 11), (1, 1, 1)])
def test_blocks_are_joined_part_by_part(lengths):
    blocks = [np.arange(float(n)) + 100 * k for k, n in enumerate(lengths)]
    joined = np.full(sum(lengths), np.nan)
    for steps in zip(*(parts_of_blocks(block, np.array(lengths)) for block in blocks), strict=True):
        parts = [part for part, *_ in steps]
        assert [len(part) for part in parts] == steps[0][1].tolist() and sum(p.nbytes for p in parts) <= 64
        steps[0][2](joined, np.concatenate(parts))
    np.testing.assert_array_equal(joined, np.concatenate(blocks))
