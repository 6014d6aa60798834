"""Workers of a farm that are the ranks of a job: rank 0 hands out, and works too, in a thread; the others work until the end.

Every rank has called the farm with its function, so only items and results travel. They go from rank to rank over a
communicator of the farms' own, as one message each; large arrays follow it, in their own memory.
"""

import atexit
import contextvars
import pickle
import queue
import threading
import time
from contextlib import suppress
from typing import Any

from .communicator import in_item
from .farm_outcomes import FAILED, FarmError, attempt, dumps_item, error_of, loads_item, pack, unpack
from .farm_schedule import Task
from .guard import setting
from .waiting import LONGEST_SLEEP, wait

HEAD_TAG, FRAME_TAG = 1, 2
FIRST_PAUSE = 2e-5  # seconds
INLINE = 4096  # bytes of an array that travels within the message
WORK, OUTCOMES, BROKEN, OVER, LEFT = range(5)


class Channel:
    """Messages between the ranks. farm: the number of the farm now, the same on all ranks; messages of earlier ones, from a
    rank that was still at work when they ended, are received and dropped."""

    def __init__(self, MPI):
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank, self.size, self.MPI = self.comm.Get_rank(), self.comm.Get_size(), MPI
        self.farm, self.awaited, self._sent = 0, 0, []
        self._status = MPI.Status()

    def send(self, rank, kind, content=None, frames=()):
        """Start to send; the frames must not be changed until they have arrived."""
        large = [frame for frame in frames if len(frame) > INLINE]
        told = [len(frame) if len(frame) > INLINE else bytes(frame) for frame in frames]
        head = pickle.dumps((self.farm, kind, content, told), 5)
        requests = [self.comm.Isend([head, self.MPI.BYTE], rank, HEAD_TAG)]
        requests += [self.comm.Isend([frame, self.MPI.BYTE], rank, FRAME_TAG) for frame in large]
        self._sent = [(r, data) for r, data in self._sent if not r.Test()]
        self._sent += [(r, data) for r, data in zip(requests, [head, *large], strict=True) if not r.Test()]

    def receive(self):
        """(source, kind, content, frames) of a message that has come, or None."""
        message = self.comm.Improbe(self.MPI.ANY_SOURCE, HEAD_TAG, self._status)
        if message is None:
            return None
        source, head = self._status.Get_source(), bytearray(self._status.Get_count(self.MPI.BYTE))
        message.Recv([head, self.MPI.BYTE])
        farm, kind, content, told = pickle.loads(head)
        frames = [self._frame(source, each) if type(each) is int else each for each in told]
        if kind == LEFT:
            self.awaited -= 1
            return None
        return (source, kind, content, frames) if farm == self.farm else None

    def _frame(self, source, size):
        frame = bytearray(size)
        self.comm.Recv([frame, self.MPI.BYTE], source, FRAME_TAG)
        return frame

    def broadcast(self, frames=None):
        """Rank 0's frames on every rank, which are all there."""
        sizes = self.comm.bcast(None if frames is None else [len(frame) for frame in frames])
        frames = frames or [bytearray(size) for size in sizes]
        for frame in frames:
            self.comm.Bcast([frame, self.MPI.BYTE])
        return frames

    def settle(self, seconds):
        """Wait until the other ranks have left the farms, and what is under way has arrived: nothing may be when MPI ends."""
        wait(_Asked(lambda: self.receive() or (not self.awaited and all(request.Test() for request, _ in self._sent))), seconds)


def channel_of(comm):
    """The channel of this process, made by all ranks together at the first farm."""
    global _channel
    if _channel is None:
        _channel = Channel(comm._link._MPI)
        atexit.register(_channel.settle, setting("POLYAD_END_DEADLINE", "inf", float))
    return _channel


_channel: Any = None


class _Asked:
    """A question as `waiting.wait` asks it."""

    def __init__(self, Test):
        self.Test = Test


class InThread:
    """A worker in a thread of this process, for a rank whose own thread hands out; as `InPlace`, one batch at a time. Results
    are packed and unpacked as those of other ranks are."""

    def __init__(self, f):
        self.f, self.left, self.thread, self.closed = f, 0, None, False
        self.to, self.back = queue.SimpleQueue(), queue.SimpleQueue()

    @property
    def free(self):
        return not self.left

    def give(self, tasks):
        if self.thread is None:
            context = contextvars.copy_context()
            self.thread = threading.Thread(target=context.run, args=(self._work,), daemon=True, name="polyad: a farm's worker")
            self.thread.start()
        self.left = len(tasks)
        self.to.put(tasks)

    def _work(self):
        in_item.set(True)
        while (tasks := self.to.get()) is not None:
            for task in tasks:
                if self.closed:
                    return
                try:
                    outcome = attempt(self.f, loads_item(dumps_item(task.arguments)))
                except BaseException as error:  # of pickling the item, or one that f must not raise
                    outcome = FAILED, error
                self.back.put((task, *pack(*outcome)))

    def take(self, seconds):
        """[(task, state, value)] of what is done, at once."""
        found = []
        with suppress(queue.Empty):
            while True:
                task, state, frames = self.back.get_nowait()
                task.place = "rank 0"
                found.append((task, *unpack(state, frames)))
        self.left -= len(found)
        return found

    def close(self):
        """End the thread after the item it is at."""
        self.closed = True
        self.to.put(None)


class Ranks:
    """All ranks, as workers that rank 0 has. local: its own; slots: how many batches each other rank takes at a time."""

    def __init__(self, channel, local, slots):
        self.channel, self.local = channel, local
        self.slots = {rank: slots for rank in range(1, channel.size)}
        self.running: dict[Any, Any] = {}
        self.ticket, self.early, self.open = 0, [], True
        channel.awaited += channel.size - 1
        atexit.register(self.close)

    @property
    def free(self):
        return sum(self.slots.values()) + self.local.free

    def give(self, tasks):
        avoided = tasks[0].place or ""
        rank = max(
            self.slots, key=lambda rank: (self.slots[rank] > 0, not avoided.startswith(f"rank {rank}"), self.slots[rank])
        )
        if not self.slots[rank] or self.local.free and avoided.startswith(f"rank {rank}"):
            return self.local.give(tasks)
        sendable, frames = [], []
        for task in tasks:
            try:
                packed = dumps_item(task.arguments)
            except FarmError as error:
                self.early.append((task, FAILED, error))
            else:
                sendable.append((task, len(packed)))
                frames += packed
        if sendable:
            self.ticket += 1
            self.slots[rank] -= 1
            self.running[self.ticket] = [task for task, _ in sendable]
            self.channel.send(rank, WORK, (self.ticket, [count for _, count in sendable]), frames)

    def take(self, seconds):
        found, self.early = self.early, []

        def come():
            found.extend(self.local.take(0))
            while (message := self.channel.receive()) is not None:
                found.extend(self._outcomes(*message))
            return found

        # who looks often takes turns with the thread that works here, which waits for each of them
        pause = FIRST_PAUSE
        deadline = None if seconds is None else time.monotonic() + seconds
        while not come() and (deadline is None or time.monotonic() < deadline):
            time.sleep(pause)
            pause = min(1.5 * pause, LONGEST_SLEEP)
        return found

    def _outcomes(self, rank, kind, content, frames):
        if kind == BROKEN:
            raise error_of(frames)
        ticket, outcomes = content
        self.slots[rank] += 1
        frames = iter(frames)
        for task, (task.place, state, count) in zip(self.running.pop(ticket), outcomes, strict=True):
            yield task, *unpack(state, [next(frames) for _ in range(count)])

    def close(self, content=None, frames=()):
        """Tell the others that it is over, and with what."""
        if self.open:
            self.open = False
            atexit.unregister(self.close)
            self.local.close()
            for rank in self.slots:
                self.channel.send(rank, OVER, content, frames)


class Worker:
    """A rank that works for rank 0 until that says that it is over. local: what applies f here."""

    def __init__(self, channel, local):
        self.channel, self.local = channel, local
        self.over: Any = None  # (content, frames) of what rank 0 says at the end
        self.batches: dict[Any, Any] = {}  # task -> its batch

    def run(self):
        """(content, frames) of what rank 0 says at the end."""
        while self.over is None:
            try:
                wait(_Asked(self._step), None)
            except (FarmError, KeyboardInterrupt) as error:  # an interrupt is one of all ranks
                self.local.close()
                self.channel.send(0, BROKEN, None, pack(FAILED, error)[1])
        self.local.close()
        self.channel.send(0, LEFT)
        return self.over

    def _step(self):
        message = self.channel.receive()
        if message is not None:
            _, kind, content, frames = message
            if kind == OVER:
                self.over = content, frames
            else:
                ticket, counts = content
                self._begin(ticket, counts, iter(frames))
            return True
        outcomes = self.local.take(0)
        for task, state, value in outcomes:
            self._note(task, state, value)
        return outcomes

    def _begin(self, ticket, counts, frames):
        batch = Batch(ticket, len(counts))
        tasks = []
        for place, count in enumerate(counts):
            task = Task(place, [next(frames) for _ in range(count)])
            self.batches[task] = batch
            try:
                task.arguments = loads_item(task.arguments)
            except FarmError as error:
                self._note(task, FAILED, error)
            else:
                tasks.append(task)
        if tasks:
            self.local.give(tasks)

    def _note(self, task, state, value):
        """Keep an outcome; those of a batch go back together."""
        batch = self.batches.pop(task)
        where = f"rank {self.channel.rank}" + (f", {task.place}" if task.place else "")
        batch.outcomes[task.index] = (where, *pack(state, value))
        batch.left -= 1
        if not batch.left:
            told = [(place, state, len(frames)) for place, state, frames in batch.outcomes]
            self.channel.send(0, OUTCOMES, (batch.ticket, told), [f for *_, frames in batch.outcomes for f in frames])


class Batch:
    """Items that rank 0 has sent together, under a ticket."""

    def __init__(self, ticket, count):
        self.ticket, self.left = ticket, count
        self.outcomes: list[Any] = [None] * count
