"""Chunks of an axis on the ranks: any lengths, empty ones too."""

from types import SimpleNamespace

import pytest

from polyad.parallel.sharded.chunks import Chunks, balanced, starts


@pytest.mark.parametrize(("size", "count", "right"), [(7, 3, (3, 2, 2)), (2, 3, (1, 1, 0)), (0, 2, (0, 0)), (4, 1, (4,))])
def test_balanced(size, count, right):
    assert balanced(size, count) == right


def test_starts():
    assert starts((3, 0, 2)) == (0, 3, 3) and starts((4,)) == (0,)


def test_chunks_of_any_length():
    comm = SimpleNamespace(rank=2, size=3)
    chunks = Chunks(comm, (3, 0, 2), "a test")
    assert (chunks.start, chunks.kept, chunks.local, chunks.size) == (3, 2, 2, 5)
    assert [chunks.rank_of(k) for k in range(5)] == [0, 0, 0, 2, 2]
    assert chunks.block(1) == (3, 0) and chunks.lengths.tolist() == [3, 0, 2]
    assert chunks == Chunks(comm, (3, 0, 2), "a test") != Chunks(comm, (2, 1, 2), "a test")
    assert len({chunks, Chunks(comm, (3, 0, 2), "a test")}) == 1
    assert chunks.own(chunks) is chunks and repr(chunks) == "<chunks [3, 0, 2]>"
