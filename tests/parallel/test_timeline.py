"""Timelines: what the file holds on 1, 2 and 3 ranks, clocks that differ, faults, and nothing left when it is over."""

import json

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.signature import Signature
from polyad.parallel.timeline import brought, events, in_one_time, watched

pytestmark = pytest.mark.quick


RECORDED = """
import json, os, sys, time
import numpy as np
import polyad as pa

w, rank = pa.world(), pa.world().rank
path = os.path.join(os.path.dirname(sys.argv[0]), "trace.json")
with pa.timeline(path) as t:
    for _ in range(3):
        time.sleep(0.05 if rank == w.size - 1 else 0.0)       # the others wait for the last
        w.allreduce(np.ones(100), label="step")
    w.gather_objects("a")
    with t.region("mine"):
        pass
    pa.farm(lambda s: time.sleep(s), [0.01] * 8)
w.allreduce(np.ones(7))                                       # no longer recorded
assert getattr(w._link, "_guard", None) is None or w._link._guard.recorder is None
if rank == 0:
    events = json.load(open(path))["traceEvents"]
    assert {e["pid"] for e in events} == set(range(w.size))
    assert all(e["ph"] == "M" or e["dur"] >= 0 and e["ts"] >= -1e5 for e in events)
    of = lambda rank, name: [e for e in events if e["pid"] == rank and e["name"] == name]
    assert sum(len(of(r, "farm(<lambda>)")) for r in range(w.size)) == 8
    lines = str(t).splitlines()
    assert lines[0].startswith(f"{w.size} rank"), lines
    if w.size > 1:
        steps = [of(r, "allreduce(sum) [step]") for r in range(w.size)]
        assert all(len(each) == 3 and each[0]["args"]["bytes"] == 800 for each in steps), steps
        assert steps[0][0]["args"]["what"] == "allreduce(sum) of float64 with shape (100,)"
        waits = [sum(e["dur"] for e in of(r, "wait")[:3]) for r in range(w.size)]
        assert waits[0] > 100e3 > waits[-1], waits
        ends = [steps[r][2]["ts"] + steps[r][2]["dur"] for r in range(w.size)]
        assert max(ends) - min(ends) < 30e3, ends             # they leave together, by one clock
        row = next(line.split() for line in lines if line.startswith("allreduce(sum) [step]"))
        assert row[2:4] == ["3", "2400"], row
        for r in range(w.size):                               # one after another, from the start to the end
            mine = [e for e in events if e["pid"] == r and e.get("cat") in ("compute", "collective")]
            parts = sorted((e["ts"], e["ts"] + e["dur"]) for e in mine)
            assert all(abs(a[1] - b[0]) < 100 for a, b in zip(parts, parts[1:])), parts
else:
    assert str(t) == "the table of the timeline is rank 0's"
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_what_is_recorded(mpirun, ranks):
    mpirun(RECORDED, ranks)


ONE_RAISES = """
import json, os, sys
import numpy as np
import polyad as pa

w = pa.world()
path = os.path.join(os.path.dirname(sys.argv[0]), "trace.json")
try:
    with pa.timeline(path):
        w.allreduce(np.ones(3))
        raise ValueError("on all ranks")
except ValueError:
    pass
mine = json.load(open(f"{path}.rank{w.rank}"))["traceEvents"]
assert any(e["name"] == "allreduce(sum)" for e in mine) and {e["pid"] for e in mine} == {w.rank}
with pa.timeline(None):                                       # another can be recorded
    w.barrier()
"""


def test_an_error_leaves_each_ranks_own_file(mpirun):
    mpirun(ONE_RAISES, 2)


def test_one_process(tmp_path):
    path = tmp_path / "trace.json"
    with pa.timeline(path) as t, t.region("outer"), t.region("inner"):
        with pytest.raises(RuntimeError, match="timeline: one is being recorded already"), pa.timeline(None):
            pass
        assert pa.farm(abs, [-1, -2]) == [1, 2]
    found = json.loads(path.read_text())["traceEvents"]
    assert [e["name"] for e in found if e.get("cat") == "region"] == ["farm(abs)", "farm(abs)", "inner", "outer"]
    assert str(t).splitlines()[0].startswith("1 rank, ") and "outer" in str(t)
    assert watched(abs, "abs") is abs


def test_a_file_that_cannot_be_written_is_known_at_once(tmp_path):
    with pytest.raises(OSError), pa.timeline(tmp_path / "absent" / "trace.json"):
        raise AssertionError("the body is not run")
    assert watched(abs, "abs") is abs


def test_no_more_is_kept_than_the_limit():
    with pa.timeline(None, limit=2) as t:
        for _ in range(5):
            with t.region("r"):
                pass
    assert str(t).endswith("3 more were not kept: raise limit=")


def record(rank, ahead, drift):
    """One of a rank whose clock is ahead, by more at the end, of a collective from second 4 to 6 that waits for one."""
    own = lambda t: t + ahead + drift * t / 10
    clocks = [[own(t + k / 1000) for k in range(9)] for t in (0.0, 10.0)]
    calls = [("allreduce(sum)", "step", "allreduce(sum) of …", 8, own(4.0), own(5.0), own(6.0))]
    regions = [("r", 0, own(1.0), own(2.0))]
    return {
        "rank": rank,
        "start": own(0.0),
        "end": own(10.0),
        "clocks": clocks,
        "dropped": 0,
        "calls": calls,
        "regions": regions,
    }


@pytest.mark.parametrize(("ahead", "drift"), [(0.0, 0.0), (1e6, 0.0), (-3.0, 0.01)])
def test_clocks_that_differ(ahead, drift):
    records = [record(0, 100.0, 0.0), record(1, 100.0 + ahead, drift)]
    in_one_time(records)
    for each in records:
        np.testing.assert_allclose(each["calls"][0][4:], [4, 5, 6], atol=1e-4)
        np.testing.assert_allclose([each["start"], each["end"], *each["regions"][0][2:]], [0, 10, 1, 2], atol=1e-4)


def test_events_have_what_viewers_want():
    records = [record(0, 0.0, 0.0)]
    in_one_time(records)
    found = list(events(records[0]))
    named = {e["name"]: e for e in found if e["ph"] == "X"}
    assert named["allreduce(sum) [step]"]["args"] == {"what": "allreduce(sum) of …", "label": "step", "bytes": 8}
    assert (named["wait"]["ts"], named["wait"]["dur"]) == (4e6, 1e6) and (named["move"]["ts"], named["move"]["dur"]) == (
        5e6,
        1e6,
    )
    assert [(e["ts"], e["dur"]) for e in found if e["name"] == "compute"] == [(0.0, 4e6), (6e6, 4e6)]
    assert found[0] == {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank 0"}}
    assert json.loads(json.dumps(found)) == found


def test_brought_a_collective():
    x = np.zeros((3, 4), np.float32)
    assert brought(Signature("allreduce", x.shape, x.dtype), (x,)) == 48
    assert brought(Signature("allgatherv", (-1, 4), x.dtype), (x,)) == 48
    assert brought(Signature("gather_objects"), (b"abc",)) == 3
    assert brought(Signature("barrier"), ()) == 0
