"""The table of a timeline: sums, means over ranks, the order of its rows."""

import pytest

from polyad.parallel.timeline_summary import summary, table

pytestmark = pytest.mark.quick


def record(start=0.0, end=10.0, calls=(), regions=(), dropped=0):
    return {"start": start, "end": end, "calls": calls, "regions": regions, "dropped": dropped}


def test_the_dearest_collective_comes_first():
    calls = [
        ("barrier", "", "barrier", 0, 0.0, 0.5, 0.5),
        ("allreduce(sum)", "step", "…", 800, 1.0, 1.0, 2.0),
        ("allreduce(sum)", "step", "…", 800, 2.0, 3.0, 3.5),
    ]
    others = [("allreduce(sum)", "step", "…", 800, 1.0, 1.5, 2.0)]
    lines = summary([record(calls=calls), record(calls=others)]).splitlines()
    assert lines[0] == "2 ranks, 10000.0 ms"
    assert lines[1].split() == ["collective", "calls", "bytes", "wait", "s", "longest", "move", "s", "share"]
    assert lines[2].split() == ["allreduce(sum)", "[step]", "1.5", "1200", "0.7500", "1.0000", "1.0000", "17.5", "%"]
    assert lines[3].split() == ["barrier", "0.5", "0", "0.2500", "0.5000", "0.0000", "2.5", "%"]


def test_regions_and_what_was_not_kept():
    lines = summary([record(regions=[("a", 0, 0.0, 1.0), ("b", 0, 0.0, 2.0), ("a", 1, 3.0, 3.5)], dropped=4)]).splitlines()
    assert lines[0] == "1 rank, 10000.0 ms, no collectives"
    assert [line.split()[:3] for line in lines[2:4]] == [["b", "1", "2.0000"], ["a", "2", "1.5000"]]
    assert lines[4] == "4 more were not kept: raise limit="


def test_nothing_at_all():
    assert summary([record(end=0.0)]) == "1 rank, 0.0 ms, no collectives"


def test_columns_are_aligned():
    assert table([("a", "bb"), ("ccc", "d")]) == ["a    bb", "ccc   d"]
