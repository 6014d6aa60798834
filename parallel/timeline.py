"""A timeline of what each rank does: its collectives, the waiting for others and the moving of data in them, what lies between.

The ranks record each for itself; at the end rank 0 gets all, puts the clocks right, and writes one file.
"""

import contextlib
import json
import math
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from .communicator import world
from .signature import Signature
from .timeline_summary import summary

BARRIERS = 9  # by which clocks are compared, at the start and at the end: the median is taken
HEADINGS = "collective", "wait for others", "move data", "compute"


class timeline:
    """Record what each rank does, between the collectives `__enter__` and `__exit__`, and write it to a file for a viewer.

    path: of the file, in Chrome's trace format (JSON), which rank 0 writes: open it at ui.perfetto.dev or chrome://tracing;
    None for no file. limit: the number of collectives, and of regions, that a rank keeps; those beyond are counted only. In the
    file each rank is a process, in which each collective has its operation, label and bytes (of this rank), and two parts:
    waiting, until all ranks have come, and moving data. Between them is what the rank computes. `region(name)` marks a part of
    the program, and items of a farm are such parts. `print` of it afterwards, on rank 0, shows a table of the collectives.

    The clocks of the ranks are compared at barriers: good to about the time that a barrier takes. Where ranks do not compare
    what they are about to do (POLYAD_COLLECTIVE_CHECK=0), waiting is part of moving. On an error each rank writes what it has
    seen to a file of its own, `<path>.rank<number>`, without the others. One process has no collectives, only regions.

    Recording takes about two microseconds a collective, and nothing where there is none. Raises RuntimeError if one is recorded
    already, OSError where rank 0 cannot write the file, before anything is recorded.

    >>> import polyad as pa
    >>> with pa.timeline(None) as t:
    ...     with t.region("setting up"):
    ...         pass
    >>> print(str(t).splitlines()[0])
    1 rank, ... ms, no collectives
    """

    def __init__(self, path: Any, limit: int = 100_000):
        self.path = None if path is None else Path(path).absolute()
        self.limit = limit
        self.now = time.perf_counter
        self.calls: list[Any] = []  # (signature, bytes, entered, all have come, left)
        self.regions: list[Any] = []  # (name, thread, start, end)
        self.dropped = 0
        self._text = "a timeline that is not at its end"

    def __enter__(self):
        global _recorded
        if _recorded is not None:
            raise RuntimeError("timeline: one is being recorded already; end that first")
        comm = world()
        self._comm, self._guard = comm, getattr(comm._link, "_guard", None)
        if self.path is not None and comm._link.rank == 0:
            self.path.write_text("")  # what cannot be written is known now
        self._clocks = [self._clock()]
        _recorded = self
        if self._guard is not None:
            self._guard.recorder = self
        self._start = self.now()
        return self

    def __exit__(self, kind, error, trace):
        global _recorded
        end = self.now()
        _recorded = None
        if self._guard is not None:
            self._guard.recorder = None
        if error is not None:
            if self.path is not None:
                with contextlib.suppress(OSError):
                    mine = self._record(end)
                    write(f"{self.path}.rank{self._comm._link.rank}", [mine])
            return
        self._clocks.append(self._clock())
        records = self._gathered(self._record(end))
        self._text = "the table of the timeline is rank 0's"
        if records is not None:
            in_one_time(records)
            self._text = summary(records)
            if self.path is not None:
                write(self.path, records)

    def __str__(self):
        return self._text

    @contextlib.contextmanager
    def region(self, name: str):
        """Mark what runs in it as a part of the program, with a name."""
        start = self.now()
        try:
            yield
        finally:
            self._keep(self.regions, (name, threading.get_ident(), start, self.now()))

    def moved(self, signature: Signature, entered: Any, move: Any, args: Any) -> Any:
        """`move(*args)`, noted: the guard calls this once all ranks have come."""
        arrived = self.now()
        try:
            return move(*args)
        finally:
            self._keep(self.calls, (signature, brought(signature, args), entered, arrived, self.now()))

    def _keep(self, kept, entry):
        if len(kept) < self.limit:
            kept.append(entry)
        else:
            self.dropped += 1

    def _clock(self):
        """Return this rank's times at the same moments on all ranks, as far as a barrier makes them so."""
        times = []
        for _ in range(BARRIERS):
            self._comm.barrier(label="timeline")
            times.append(self.now())
        return times

    def _record(self, end):
        threads = {
            ident: number for number, ident in enumerate(dict.fromkeys([threading.get_ident(), *(r[1] for r in self.regions)]))
        }
        return {
            "rank": self._comm._link.rank,
            "start": self._start,
            "end": end,
            "clocks": self._clocks,
            "dropped": self.dropped,
            "calls": [(_headline(s), s.label, str(s._replace(label="", place="")), n, *times) for s, n, *times in self.calls],
            "regions": [(name, threads[ident], start, stop) for name, ident, start, stop in self.regions],
        }

    def _gathered(self, record):
        """Every rank's record on rank 0, None on the others."""
        link = self._comm._link
        if link.size == 1:
            return [record]
        return link.run(Signature("timeline"), link._comm.gather, record)


_recorded: Any = None


def watched(f, name):
    """f, or, while a timeline is recorded, f of which each call is a region."""
    recorded = _recorded
    if recorded is None:
        return f

    def call(*arguments):
        with recorded.region(name):
            return f(*arguments)

    return call


def brought(signature, args):
    """Return how many bytes this rank brings to a collective, as far as that is known."""
    if signature.dtype is not None and -1 not in signature.shape:
        return math.prod(signature.shape) * signature.dtype.itemsize
    return sum(len(x) if type(x) is bytes else x.nbytes for x in args if type(x) in (bytes, np.ndarray))


def _headline(signature):
    return signature.operation + (f"({signature.reduction})" if signature.reduction else "")


def in_one_time(records):
    """In place: all times in seconds since rank 0 began, by its clock."""
    origin, first = records[0]["start"], [np.array(clock) for clock in records[0]["clocks"]]
    for record in records:
        clocks = [np.array(clock) for clock in record["clocks"]]
        ahead = [float(np.median(own - zero)) for own, zero in zip(clocks, first, strict=True)]
        at = [float(np.median(own)) for own in clocks]
        right = lambda t, at=at, ahead=ahead: t - float(np.interp(t, at, ahead)) - origin
        record["start"], record["end"] = right(record["start"]), right(record["end"])
        record["calls"] = [(*facts[:4], *map(right, facts[4:])) for facts in record["calls"]]
        record["regions"] = [(name, thread, right(start), right(end)) for name, thread, start, end in record["regions"]]


def write(path, records):
    """Write the records as one file; it takes the place of an older one when it is whole."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        file.write(",\n".join(json.dumps(event) for record in records for event in events(record)))
        file.write("\n]}\n")
    os.replace(temporary, path)


def events(record):
    """The events of one rank, as the viewers have them: times in microseconds."""
    rank = record["rank"]

    def event(name, kind, start, end, thread=0, **facts):
        shown = {"name": name, "cat": kind, "ph": "X", "pid": rank, "tid": thread}
        shown |= {"ts": round(start * 1e6, 3), "dur": round((end - start) * 1e6, 3)}
        return shown | {"args": facts} if facts else shown

    yield {"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}}
    yield {"name": "process_sort_index", "ph": "M", "pid": rank, "args": {"sort_index": rank}}
    before = record["start"]
    collective, wait, move, compute = HEADINGS
    for name, label, told, size, entered, arrived, left in record["calls"]:
        if entered > before:
            yield event("compute", compute, before, entered)
        yield event(f"{name} [{label}]" if label else name, collective, entered, left, what=told, label=label, bytes=size)
        yield event("wait", wait, entered, arrived)
        yield event("move", move, arrived, left)
        before = left
    yield event("compute", compute, before, record["end"])
    for name, thread, start, end in record["regions"]:
        yield event(name, "region", start, end, thread + 1)
