"""Groups of ranks: rows and columns of a grid make collectives of their own, and a fault in one ends the whole job."""

import re

import pytest
from many_ranks import many_ranks

from polyad.parallel import pieces

pytestmark = pytest.mark.quick

GRID = """
import numpy as np
from polyad.parallel import CollectiveMismatch, world

w = world()
r, n = w.rank, w.size
columns = 2 if n == 4 else n - 1  # ranks in rows of this length, the last one shorter
row = w.split(r // columns, name="the axis 'row'")
column = w.split(r % columns, name="the axis 'column'")
assert row.ranks == tuple(k for k in range(n) if k // columns == r // columns) and row.ranks[row.rank] == r, row.ranks
assert column.ranks == tuple(range(r % columns, n, columns)) and column.size == len(column.ranks)
assert w.ranks == tuple(range(n)) and "the axis 'row'" in repr(row)

# each counts by itself: parts may call more often than others
for _ in range(1 + r // columns):
    assert row.allreduce(float(r)) == sum(row.ranks)
assert column.allgather(r).tolist() == list(column.ranks)
assert column.bcast(r, column.size - 1) == column.ranks[-1]
assert row.gather_objects(r) == list(row.ranks) and row.agree(row.ranks)
assert w.allreduce(column.allreduce(1)) == sum(len(range(k % columns, n, columns)) for k in range(n))

# once for the same ranks and name, whatever their colors, and in whatever order of the keys
assert w.split(r // columns, name="the axis 'row'") is row
assert w.split(7 + r // columns, name="the axis 'row'") is row
other = w.split(r // columns, name="another")
assert other is not row and other.ranks == row.ranks
turned = w.split(0, -r, name="turned")
assert turned.ranks == tuple(range(n))[::-1] and turned.rank == n - 1 - r
assert turned.allgather(r).tolist() == list(turned.ranks)
for _ in range(2):
    part = w.split(None if r == 0 else 0, name="all but one")
    assert (part is None) == (r == 0)
    if part is not None:
        assert part.allreduce(1) == n - 1 and part.rank == r - 1
pair = row.split(0 if row.rank < 2 else None)  # of a part, with the name that it has by default
if pair is not None and pair.size == 2:
    assert f"the part ranks {pair.ranks[0]}, {pair.ranks[1]}" in repr(pair)

groups = len(w._link._guard.groups)
for step in range(2100 if n == 2 else 20):  # an MPI library has some two thousand communicators
    assert w.split(step * n + r // columns, name="the axis 'row'") is row
for step in range(20):
    assert w.split(step % 3, name="whole").size == n
assert len(w._link._guard.groups) == groups + 1

if row.size > 1:  # an error of the ranks of one part; the others go on
    try:
        row.allreduce(np.ones(2 + row.rank))
    except CollectiveMismatch as error:
        assert "do not agree on collective" in str(error) and "of the axis 'row':" in str(error), error
        assert f"rank {row.ranks[0]}: allreduce" in str(error) and f"rank {row.ranks[1]}: allreduce" in str(error), error
    else:
        raise AssertionError("CollectiveMismatch expected")
assert row.allreduce(1) == row.size and w.allreduce(1) == n
for bad, kind in [(-1, ValueError), (1 << 31, ValueError), (0.5, TypeError)]:
    try:
        w.split(bad)
    except kind as error:
        assert len(str(error)) > 20, error
    else:
        raise AssertionError(kind)
"""


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rows_and_columns(mpirun, n):
    mpirun(GRID, n, timeout=120)


FAULTY = """
import os, sys, time
import numpy as np
from polyad.parallel import world
fault = os.environ["FAULT"]
w = world()
r = w.rank
row, column = w.split(r // 2, name="the axis 'row'"), w.split(r % 2, name="the axis 'column'")
row.barrier(); column.barrier()
if fault == "stuck" and r == 3: time.sleep(60)
if fault == "raise" and r == 3: raise ValueError("boom")
if fault == "exit" and r == 3: sys.exit(0)
if fault == "killed" and r == 3: os._exit(7)
if fault == "across":  # each waits for the next one, in a circle
    (row if r in (0, 3) else column).allreduce(1.0)
elif fault == "two":
    row.allreduce(1.0) if r == 0 else column.allreduce(1.0)
elif fault == "world":
    w.allreduce(1.0) if r == 0 else column.allreduce(1.0)
elif fault == "mixed":
    row.allreduce(np.ones(4 + (r == 3)))
    w.allreduce(1.0)
elif fault == "root":
    column.bcast(1.0, r // 2)
else:
    column.allreduce(1.0)
    row.allreduce(1.0)
"""

COLLECTIVE = r"allreduce\(sum\) of float64 with shape \(\)"


@pytest.mark.parametrize(("fault", "n", "expected"), [
    ("across", 4, [
        rf"CollectiveTimeout: {COLLECTIVE}, collective 2 of the axis '\w+': rank \d did not arrive within 1 s",
        rf"rank \d (waits in collective 2 of the axis '\w+', {COLLECTIVE}, since|has raised .*CollectiveTimeout.*of the axis)",
    ]),
    ("two", 2, [
        r"do not agree on collective 2 of the axis 'row':", rf"rank 0: {COLLECTIVE} at script", "rank 1: end of the program",
    ]),
    ("world", 4, [
        rf"{COLLECTIVE}, collective 3: ranks 1, 2, 3 did not arrive within 1 s|"
        rf"rank 0 waits in collective 3, {COLLECTIVE}, since",
    ]),
    ("stuck", 4, [
        rf"{COLLECTIVE}, collective 2 of the axis '(column|row)': rank [23] did not arrive within 1 s",
        "rank 3 has left collective 1 of the axis 'column', barrier, ",
    ]),
    ("raise", 4, [r"\[rank 3/4\] Traceback", "ValueError: boom"]),
    ("exit", 4, [
        r"CollectiveMismatch: the ranks do not agree on collective 2 of the axis '(column|row)':",
        rf"rank [12]: {COLLECTIVE} at script", r"rank 3: end of the program by sys\.exit\(0\) at script",
    ]),
    ("killed", 4, []),
    ("mixed", 4, [
        r"do not agree on collective 2 of the axis 'row':", r"rank 2: .* \(4,\) at script", r"rank 3: .* \(5,\) at script",
    ]),
    ("root", 4, [r"rank [01]: bcast .* from root 0", r"rank [23]: bcast .* from root 1"]),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_a_fault_in_a_part_ends_the_job(mpirun, fault, n, expected):
    job = mpirun(FAULTY, n, timeout=30, env={"FAULT": fault, "POLYAD_DEADLINE": "1"}, expect_success=False)
    for pattern in expected:
        assert re.search(pattern, job.stderr), f"{pattern}\n{job}"


def test_the_end_is_met_at_once_where_a_part_waits(mpirun):
    """Not only after the deadline: a rank that ends tells all of its parts."""
    job = mpirun(FAULTY, 4, timeout=30, env={"FAULT": "exit", "POLYAD_DEADLINE": "25"}, expect_success=False)
    assert "CollectiveMismatch" in job.stderr, str(job)


def test_bytes_travel_in_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 64)
    communicator, messages = many_ranks(3)
    link, payload = communicator._link, bytes(range(200))
    assert [*map(len, link.gather_bytes(payload))] == [200, 0, 0]
    assert link.broadcast_bytes(payload, 0) == payload
    assert max(size for _, size in messages) <= 64 and len(messages) > 8, messages
