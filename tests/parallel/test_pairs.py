"""Who sends to whom, and who expects it: all pairs of a few ranks, told by threads that stand in for ranks."""

import itertools
import re
import threading
from types import SimpleNamespace

import pytest

from polyad.parallel import CollectiveMismatch
from polyad.parallel.group import Word
from polyad.parallel.pairs import require_pairs

pytestmark = pytest.mark.quick


class Together:
    """What `size` threads give, combined for all of them. messages: how often."""

    def __init__(self, size):
        self.size, self.barrier, self.given, self.messages = size, threading.Barrier(size), [None] * size, 0

    def all(self, rank, value):
        self.given[rank] = value
        self.barrier.wait()
        given = list(self.given)
        self.messages += rank == 0
        self.barrier.wait()
        return given

    def group(self, rank):
        def distinct(payload, key, most):
            found = {}
            for its, (there, payload_there) in sorted((k, (r, p)) for r, (k, p) in enumerate(self.all(rank, (key, payload)))):
                found.setdefault(its, Word(payload_there, there, 1))
            return list(found.values())[:most]

        return SimpleNamespace(
            rank=rank, size=self.size, name="", distinct=distinct,
            total=lambda number: sum(self.all(rank, number)) % (1 << 64), least=lambda number: min(self.all(rank, number)),
        )  # fmt: skip


def told(pairs):
    """What each rank raises, or None."""
    together, raised = Together(len(pairs)), [None] * len(pairs)

    def run(rank):
        try:
            require_pairs(together.group(rank), *pairs[rank])
        except CollectiveMismatch as error:
            raised[rank] = str(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(pairs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised, together.messages


def paired(pairs):
    return {(source, d) for d, (source, _) in enumerate(pairs) if source is not None} == {
        (s, dest) for s, (_, dest) in enumerate(pairs) if dest is not None
    }


def test_all_pairs_of_two_ranks_and_some_of_three():
    ends = [None, 0, 1]
    cases = [list(case) for case in itertools.product(itertools.product(ends, ends), repeat=2)]
    ring = [(2, 1), (0, 2), (1, 0)]
    cases += [
        ring,
        *[[*ring[:k], (source, dest), *ring[k + 1 :]] for k in range(3) for source in (None, 0, 1, 2) for dest in (0, None)],
    ]
    for pairs in cases:
        raised, messages = told(pairs)
        assert len(set(raised)) == 1, raised  # the same on all ranks
        assert (raised[0] is None) == paired(pairs), (pairs, raised)
        if raised[0] is None:
            assert messages == 1
            continue
        shown = re.findall(r"\n  rank (\d): source (\w+), dest (\w+)", raised[0])
        assert shown and all(tuple(map(str, pairs[int(rank)])) == tuple(rest) for rank, *rest in shown), raised[0]
        assert not paired([pairs[r] if str(r) in {s[0] for s in shown} else (None, None) for r in range(len(pairs))]), raised[0]


def test_of_many_ranks_those_concerned_are_named():
    ring = [((rank - 1) % 20, (rank + 1) % 20) for rank in range(20)]
    ring[7] = 6, 9  # rank 8 gets no message, rank 9 has two
    raised, messages = told(ring)
    assert set(raised) == {raised[0]} and messages <= 8
    assert "  rank 7: source 6, dest 9\n  rank 8: source 7, dest 9\n" in raised[0]
