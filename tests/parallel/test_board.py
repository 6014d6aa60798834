"""Last states of ranks: looking at them costs the same on any number of ranks."""

import sys

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.agreement import meet
from polyad.parallel.collectives import Blocks
from polyad.parallel.communicator import Communicator
from polyad.parallel.ownership import Owners

pytestmark = pytest.mark.quick


class Many:
    """A link between many ranks that all do what this one does: counts messages, and how often anything is asked of a rank."""

    rank, size, library, checked, strict = 0, 100_000, "many", True, False

    def __init__(self):
        self.messages, self.bytes = 0, 0

    def map_under_way(self, name):
        return Owners(0).map_under_way(name)

    def compare(self, signature, mark, told):
        assert 0 <= mark < 1 << 62
        self.messages += 1
        self.bytes += 32
        return True

    def run(self, signature, move, *args):
        self.messages += 1
        return move(*args)

    def reduce(self, a, mpi):
        self.bytes += a.nbytes

    def gather_bytes(self, payload):
        raise AssertionError("no rank hears what each of the others says")

    gather = gather_blocks = gather_bytes


def test_agreeing_costs_the_same_on_any_number_of_ranks(monkeypatch):
    """Messages, bytes, and steps of Python."""
    module, costs = sys.modules["polyad.parallel.pmap"], []
    for size in (2, 100_000):
        link = Many()
        link.size = size
        comm = Communicator(link)
        monkeypatch.setattr(module, "world", lambda comm=comm: comm)
        blocks = Blocks(comm, size, "a map")
        assert meet(blocks, "here", ("detail", 1)) == [("detail", 1)]
        steps = []

        def count(frame, event, argument, steps=steps):
            steps.append(event)
            return count

        mapped = pa.pmap(lambda x: pa.psum(x * x, "i"), axis_name="i", out_axes=None)
        x = np.ones(size)
        for _ in range(6):
            mapped(x)
        before = link.messages, link.bytes
        sys.settrace(count)
        try:
            mapped(x)
        finally:
            sys.settrace(None)
        costs.append((link.messages - before[0], link.bytes - before[1], len(steps)))
    assert costs[0][:2] == costs[1][:2] and abs(costs[0][2] - costs[1][2]) < 100, costs
    assert costs[0][0] <= 4, costs  # start, where each stands, the sum, end
