"""Depths between those of the transformations: directly below one, above all others that are there."""

from types import SimpleNamespace

import pytest

from polyad.ad.reverse.depths import at_work, below_depth


@pytest.mark.parametrize("depth", [1, 2, 7])
def test_between_two_whole_depths(depth):
    assert depth - 1 < below_depth(depth) < depth
    between = below_depth(depth)  # below what lies between, too
    assert depth - 1 < below_depth(between) < between


def test_above_what_checkpoints_keep_there():
    kept = below_depth(3)
    token = at_work.set((SimpleNamespace(depth=kept), SimpleNamespace(depth=0.5)))
    try:
        assert kept < below_depth(3) < 3
        assert 3 < below_depth(4) < 4 and 1 < below_depth(2) < 2  # others do not count there
        assert 2 < below_depth(kept) < kept
    finally:
        at_work.reset(token)
