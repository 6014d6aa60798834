"""Schedules of pipelines: which rank does what in which tick. Made once, in the same way on every rank, from numbers alone, so
that all know who sends what to whom and when."""

from __future__ import annotations

import operator
from typing import NamedTuple

from ...dispatch import StructureError

SCHEDULES = ("gpipe", "1f1b", "interleaved")


class Action(NamedTuple):
    """One stage forwards (F) or backwards (B) with one microbatch."""

    kind: str
    stage: int
    microbatch: int

    def __str__(self):
        return f"{self.kind}{self.microbatch}" + f"/{self.stage}"


class Schedule:
    """The ticks of a pipeline: for each, what each rank does (an Action or None). Printed it is a table, a row for each rank.

    stages, microbatches, ranks: their numbers. kind: "gpipe", "1f1b" or "interleaved". owner: for each stage its rank.
    """

    def __init__(self, stages: int, microbatches: int, ranks: int, kind: str) -> None:
        self.stages, self.microbatches, self.ranks, self.kind = stages, microbatches, ranks, kind
        if kind == "interleaved":
            self.owner = [stage % ranks for stage in range(stages)]
        else:
            self.owner = [stage * ranks // stages if stages >= ranks else stage for stage in range(stages)]
        self.ticks = _ticks(self)

    def of_rank(self, rank: int) -> list[Action]:
        """The actions of a rank in their order."""
        return [action for tick in self.ticks if (action := tick[rank]) is not None]

    @property
    def idle(self) -> float:
        """The part of all ticks of all ranks in which nothing is done: the bubble."""
        done = sum([action is not None for tick in self.ticks for action in tick])
        return 1 - done / (len(self.ticks) * self.ranks)

    def in_flight(self, rank: int) -> int:
        """The largest number of microbatches, of all stages of a rank, whose way back is still to come."""
        now = most = 0
        for action in self.of_rank(rank):
            now += 1 if action.kind == "F" else -1
            most = max(most, now)
        return most

    def __str__(self):
        rows = [[str(tick[rank] or "") for tick in self.ticks] for rank in range(self.ranks)]
        widths = [max([len(row[k]) for row in rows]) for k in range(len(self.ticks))]
        return "\n".join(
            [f"rank {r}: " + " ".join([cell.ljust(w) for cell, w in zip(row, widths)]).rstrip() for r, row in enumerate(rows)]
        )


def pipeline_schedule(stages: int, microbatches: int, ranks: int, kind: str = "1f1b") -> Schedule:
    """The Schedule of a pipeline, to be looked at and printed.

    stages, microbatches, ranks: integers of at least 1. kind: "gpipe" (all forwards, then all backwards), "1f1b" (a microbatch
    goes back as soon as it can, so that rank r of R keeps at most R - r of them: PipeDream-Flush, Narayanan et al. 2021) or
    "interleaved" (stage s is on rank s mod R, which has several stages that do not follow each other: a smaller bubble for more
    messages). Raises StructureError for others.

    >>> import polyad as pa
    >>> print(pa.pipeline_schedule(2, 3, 2))
    rank 0: F0/0 F1/0      B0/0 F2/0 B1/0      B2/0
    rank 1:      F0/1 B0/1 F1/1 B1/1 F2/1 B2/1
    """
    numbers = [operator.index(n) for n in (stages, microbatches, ranks)]
    if min(numbers) < 1 or kind not in SCHEDULES:
        raise StructureError(
            f"pipeline_schedule: {stages} stages, {microbatches} microbatches, {ranks} ranks, kind {kind!r}; give integers of "
            f"at least 1 and one of {', '.join(SCHEDULES)}"
        )
    return Schedule(numbers[0], numbers[1], numbers[2], kind)


def _ticks(schedule):
    """Have each rank do the first of its actions that is ready, backwards before forwards, while it keeps few microbatches."""
    done: dict[Action, int] = {}
    last, ranks = schedule.stages - 1, schedule.ranks
    todo = [[s for s in range(schedule.stages) if schedule.owner[s] == rank] for rank in range(ranks)]
    limits = [_limit(schedule, rank, len(todo[rank])) for rank in range(ranks)]
    kept, ticks = [0] * ranks, []

    def ready(action, now):
        if action in done:
            return False
        kind, stage, m = action
        if kind == "F":
            before = stage == 0 or done.get(Action("F", stage - 1, m), now) < now
            return before
        after = stage == last or done.get(Action("B", stage + 1, m), now) < now
        return after and done.get(Action("F", stage, m), now) < now

    every = [sorted([Action(kind, s, m) for kind in "BF" for s in todo[rank] for m in range(schedule.microbatches)],
                    key=lambda action: _order(action, schedule)) for rank in range(ranks)]  # fmt: skip
    total = 2 * schedule.stages * schedule.microbatches
    while len(done) < total:
        now, chosen = len(ticks), []
        for rank in range(ranks):
            free = kept[rank] < limits[rank]
            allowed = [a for a in every[rank] if (_may_go_back(a, schedule, done) if a.kind == "B" else free)]
            chosen.append(next((action for action in allowed if ready(action, now)), None))
        if not any(chosen):  # nobody may begin another microbatch, and none can go back
            limits = [limit + 1 for limit in limits]
            continue
        for rank, action in enumerate(chosen):
            if action is not None:
                done[action] = now
                every[rank].remove(action)
                kept[rank] += 1 if action.kind == "F" else -1
        ticks.append(tuple(chosen))
    return ticks


def _limit(schedule, rank, own):
    """The number of microbatches, of all its stages, that a rank may keep."""
    ranks = schedule.ranks
    if schedule.kind == "gpipe":
        return own * schedule.microbatches
    if schedule.kind == "interleaved" and own > 1:
        return 2 * (ranks - rank - 1) + (own - 1) * ranks + 1
    return max(own, 1) * (ranks - rank)


def _may_go_back(action, schedule, done):
    """Return whether a microbatch may go back: of a gpipe only after all are through."""
    if schedule.kind != "gpipe":
        return True
    return all([Action("F", action.stage, m) in done for m in range(schedule.microbatches)])


def _order(action, schedule):
    """The order in which a rank prefers its actions: backwards first; of several stages the deepest, a group of microbatches at
    a time."""
    kind, stage, m = action
    group = m // schedule.ranks if schedule.kind == "interleaved" else m
    rank_of = m % schedule.ranks if schedule.kind == "interleaved" else 0
    return (kind == "F", group, stage if kind == "F" else -stage, rank_of)
