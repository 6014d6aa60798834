"""What a farm does next: which items go to the workers, which are tried again, and the results in the order of the items.

Workers have `free`, the number of batches they can take now; `give(tasks)`; `take(seconds)`, which waits that long (None: for
ever) for outcomes and returns [(task, state, value)]; and `close()`. It is the same for all kinds: this process, others, ranks.
"""

import heapq
import itertools
import time
from typing import Any

from .farm_outcomes import DONE, FAILED, attempt, pack, unpack


class Task:
    """One item: its number, the arguments for f, how often it has been tried, where it failed last."""

    __slots__ = ("arguments", "index", "place", "tries")

    def __init__(self, index, arguments):
        self.index, self.arguments, self.tries, self.place = index, arguments, 0, None


class Schedule:
    """Items and what is known of them. delays: seconds before each retry; ahead: how many items may be under way or waiting
    for their turn to be yielded, None for any number; report: called with the number of items that are done."""

    def __init__(self, name, items, batch=1, on_error=None, delays=(), retry_check=None, ahead=None, report=None):
        self.name, self.items, self.batch = name, enumerate(items), batch
        self.on_error, self.delays, self.retry_check = on_error, delays, retry_check
        self.ahead, self.report = ahead, report
        self.position, self.given, self.running = 0, 0, 0  # the next to be yielded, to be handed out; those under way
        self.again: list[Any] = []  # (when, number, task)
        self.results: dict[int, Any] = {}

    def run(self, workers):
        """Yield the results in the order of the items; an error of an item, or of the iterator, ends it."""
        while True:
            while self.position in self.results:
                self.position += 1
                yield self.results.pop(self.position - 1)
            self._hand_out(workers)
            if not self.running and not self.again:
                if self.position in self.results:
                    continue
                return
            for task, state, value in workers.take(self._patience(workers)):
                self.running -= 1
                self._settle(task, state, value)

    def _hand_out(self, workers):
        while workers.free > 0:
            if self.again and self.again[0][0] <= time.monotonic():
                tasks = [heapq.heappop(self.again)[2]]
            else:
                tasks = self._fresh()
            if not tasks:
                return
            self.running += len(tasks)
            workers.give(tasks)

    def _fresh(self):
        room = self.batch if self.ahead is None else min(self.batch, self.position + self.ahead - self.given)
        tasks = [Task(index, arguments) for index, arguments in itertools.islice(self.items, max(room, 0))]
        self.given += len(tasks)
        return tasks

    def _patience(self, workers):
        """Return in how many seconds an item is due again and there may be a worker for it; None if not before an outcome."""
        return max(self.again[0][0] - time.monotonic(), 0.0) if self.again and workers.free > 0 else None

    def _settle(self, task, state, value):
        if state is DONE:
            self.results[task.index] = value
        elif state is not FAILED:  # it was not begun: its worker died of an earlier item of the batch
            return heapq.heappush(self.again, (0.0, task.index, task))
        else:
            task.tries += 1
            if task.tries <= len(self.delays) and (self.retry_check is None or self.retry_check(value)):
                due = time.monotonic() + self.delays[task.tries - 1]
                return heapq.heappush(self.again, (due, task.index, task))
            where = "" if task.place is None else f", on {task.place}"
            value.add_note(f"{self.name}: item {task.index}{f', tried {task.tries} times' * (task.tries > 1)}{where}")
            if self.on_error is None:
                raise value
            self.results[task.index] = self.on_error(value)
        if self.report is not None:
            self.report(1)


class InPlace:
    """The worker that is this process: `take` works on one item."""

    def __init__(self, f):
        self.f, self.tasks = f, []

    @property
    def free(self):
        return not self.tasks

    def give(self, tasks):
        self.tasks = tasks[::-1]

    def take(self, seconds):
        if not self.tasks:
            time.sleep(seconds or 0.0)
            return []
        task = self.tasks.pop()
        return [(task, *attempt(self.f, task.arguments))]

    def close(self):
        self.tasks = []


class OfExecutor:
    """The workers of an executor as in `concurrent.futures`, which is left open."""

    def __init__(self, f, executor, count):
        from concurrent import futures

        self.f, self.executor, self.count, self.wait = f, executor, count, futures.wait
        self.running: dict[Any, Any] = {}

    @property
    def free(self):
        return self.count - len(self.running)

    def give(self, tasks):
        future = self.executor.submit(work_off, self.f, [task.arguments for task in tasks])
        self.running[future] = tasks

    def take(self, seconds):
        if not self.running:
            time.sleep(seconds or 0.0)
            return []
        done = self.wait(self.running, seconds, return_when="FIRST_COMPLETED").done
        return [outcome for future in done for outcome in self._outcomes(future, self.running.pop(future))]

    def _outcomes(self, future, tasks):
        error = future.exception()
        if error is not None:  # of the executor: a worker that died, something that cannot be pickled
            return [(task, FAILED, error) for task in tasks]
        return [(task, *unpack(*outcome)) for task, outcome in zip(tasks, future.result(), strict=True)]

    def close(self):
        for future in self.running:
            future.cancel()


def work_off(f, batch):
    """Return the packed outcomes of a batch, in a worker of an executor."""
    packed = [pack(*attempt(f, arguments)) for arguments in batch]
    return [(state, [bytes(frame) for frame in frames]) for state, frames in packed]
