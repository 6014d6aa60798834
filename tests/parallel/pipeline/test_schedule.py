"""Schedules of pipelines: complete, in an order that can be followed, with few microbatches kept and small bubbles."""

import itertools

import pytest

import polyad as pa
from polyad.parallel.pipeline.schedule import SCHEDULES, Action

SIZES = [*itertools.product(range(1, 7), range(1, 9), range(1, 5))]


@pytest.mark.parametrize("kind", SCHEDULES)
def test_every_schedule_can_be_followed(kind):
    """Each action once; none before what it needs, which was done, and arrived, in an earlier tick."""
    for stages, microbatches, ranks in SIZES:
        plan = pa.pipeline_schedule(stages, microbatches, ranks, kind)
        when = {}
        for now, tick in enumerate(plan.ticks):
            assert len(tick) == ranks and any(tick), (stages, microbatches, ranks)
            for rank, action in enumerate(tick):
                if action is None:
                    continue
                assert action not in when and plan.owner[action.stage] == rank
                when[action] = now
        assert len(when) == 2 * stages * microbatches
        for (which, stage, m), now in when.items():
            if which == "F":
                assert stage == 0 or when[Action("F", stage - 1, m)] < now
            else:
                assert when[Action("F", stage, m)] < now
                assert stage == stages - 1 or when[Action("B", stage + 1, m)] < now


@pytest.mark.parametrize("kind", ["gpipe", "1f1b"])
def test_bubbles_and_what_is_kept(kind):
    for stages, microbatches in itertools.product(range(1, 7), range(1, 9)):
        plan = pa.pipeline_schedule(stages, microbatches, stages, kind)
        assert len(plan.ticks) == 2 * (microbatches + stages - 1)
        assert abs(plan.idle - (stages - 1) / (microbatches + stages - 1)) < 1e-12
        for rank in range(stages):
            most = microbatches if kind == "gpipe" else min(microbatches, stages - rank)
            assert plan.in_flight(rank) == most, (stages, microbatches, rank)


def test_interleaved_stages_wait_less():
    for ranks, microbatches, chunks in [(2, 4, 2), (2, 8, 3), (3, 6, 2), (4, 8, 2)]:
        stages = ranks * chunks
        plan = pa.pipeline_schedule(stages, microbatches, ranks, "interleaved")
        assert plan.owner == [s % ranks for s in range(stages)]
        assert plan.idle < pa.pipeline_schedule(stages, microbatches, ranks, "gpipe").idle
        least = 2 * microbatches * chunks + 2 * (ranks - 1)  # where a rank waits for the first and for the last only
        assert least <= len(plan.ticks) <= least + ranks


def test_stages_that_follow_each_other_are_on_one_rank():
    assert pa.pipeline_schedule(5, 1, 2).owner == [0, 0, 0, 1, 1] and pa.pipeline_schedule(2, 1, 4).owner == [0, 1]


def test_it_is_a_table():
    rows = str(pa.pipeline_schedule(2, 2, 2)).splitlines()
    assert rows == ["rank 0: F0/0 F1/0      B0/0      B1/0", "rank 1:      F0/1 B0/1 F1/1 B1/1"]


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1, "other")])
def test_bad_input(numbers):
    with pytest.raises(pa.StructureError, match="give integers of at least 1 and one of gpipe, 1f1b, interleaved"):
        pa.pipeline_schedule(*numbers)
