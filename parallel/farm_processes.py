"""Workers of a farm that are child processes of this one: one that dies costs the item it worked on, and is replaced.

They are started by `spawn`, which is safe beside threads, and in a rank of MPI. Each has a pipe of its own, so that it is known
which item a process died of; those of its batch that it had not begun go to another.
"""

import pickle
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from .farm_outcomes import FAILED, NOT_RUN, FarmError, WorkerDied, attempt, dumps_item, loads, loads_item, pack, unpack

READY = b"ready"
LAST_SECONDS = 1.0  # seconds that a child has to end by itself


class Children:
    """count processes that apply f. They are started with the first items, not before."""

    def __init__(self, f, count):
        self.count, self.program, self.children, self.early = count, _program(f), [], []

    @property
    def free(self):
        return self.count - sum(bool(child.tasks) for child in self.children)

    def give(self, tasks):
        child = next((child for child in self.children if not child.tasks), None)
        if child is None:
            self.children.append(child := Child(self.program))
        child.tasks = []
        for task in tasks:
            try:
                child.tasks.append((task, dumps_item(task.arguments)))
            except FarmError as error:
                self.early.append((task, FAILED, error))
        child.begin()

    def take(self, seconds):
        found, self.early = self.early, []
        while not found:
            busy = [child for child in self.children if child.tasks]
            if not busy:
                time.sleep(seconds or 0.0)
                return []
            from multiprocessing import connection  # not at start-up

            ready = connection.wait([child.pipe for child in busy], seconds)
            found = [outcome for child in busy if child.pipe in ready for outcome in child.outcomes()]
            self.children = [child for child in self.children if child.alive]
            if seconds is not None:
                return found
        return found

    def close(self):
        for child in self.children:
            child.end(LAST_SECONDS)
        self.children = []


class Child:
    """One process. tasks: [(task, frames)] that it has not answered, of which it works on the first."""

    def __init__(self, program):
        import multiprocessing  # not at start-up: it changes sys.modules too

        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, program), daemon=True, name="polyad: a farm's worker")
        self.process.start()
        theirs.close()
        self.tasks, self.alive, self.ready = [], True, False

    def begin(self):
        """Send the tasks, once the process has said that it is ready; it reads all of them before it answers the first."""
        if self.ready and self.tasks:
            with suppress(OSError):  # it has died: the end of its pipe tells
                _send(self.pipe, [len(self.tasks)])
                for _, frames in self.tasks:
                    _send(self.pipe, frames)

    def outcomes(self):
        """[(task, state, value)] of what has come; all of its tasks if it has died."""
        try:
            if not self.ready:
                return self._greeted(self.pipe.recv_bytes())
            state, *frames = _received(self.pipe)
            outcome = unpack(state, frames)
        except (EOFError, OSError):
            pass
        else:
            return self._answered(*outcome)
        return self._died()

    def _greeted(self, greeting):
        if greeting != READY:
            raise _cannot_be_sent("the function", greeting.decode())
        self.ready = True
        self.begin()
        return []

    def _answered(self, state, value):
        task, _ = self.tasks.pop(0)
        task.place = f"process {self.process.pid}"
        return [(task, state, value)]

    def _died(self):
        self.alive = False
        self.pipe.close()
        self.process.join(LAST_SECONDS)  # it is about to end, and how is asked
        self.end(0.0)
        how = _ending(self.process.exitcode)
        if not self.ready:
            raise FarmError(
                f"a worker process of the farm {how} before it could take an item; see what it wrote above. A script that uses "
                "workers= starts what it does under `if __name__ == '__main__':`, as workers import it"
            )
        (first, _), *rest = self.tasks
        self.tasks = []
        first.place = f"process {self.process.pid}"
        return [(first, FAILED, WorkerDied(f"the worker process {how} in this item"))] + [(t, NOT_RUN, None) for t, _ in rest]

    def end(self, patience):
        """Close the pipe, by which it ends when it has nothing to do; else kill it."""
        self.pipe.close()
        if self.tasks:
            self.process.kill()
        self.process.join(patience)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def serve(pipe, program):
    """Apply f to what comes through the pipe until that is closed: what a child process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; its parent decides
    from .communicator import in_item

    try:
        f = loads(program)
    except Exception as error:
        return pipe.send_bytes(f"{type(error).__name__}: {error}".encode())
    in_item.set(True)
    pipe.send_bytes(READY)
    with suppress(EOFError, OSError):  # nobody waits any more
        while True:
            (count,) = _received(pipe)
            for frames in [_received(pipe) for _ in range(count)]:
                state, packed = pack(*answer(f, frames))
                sys.stdout.flush()
                _send(pipe, [state, *packed])


def answer(f, frames):
    """The outcome of f for the arguments that were sent as frames."""
    try:
        return attempt(f, loads_item(frames))
    except FarmError as error:
        return FAILED, error


def _program(f):
    """The frames of f: by cloudpickle if it is installed, which sends what a script defines as a whole."""
    pickler: Any
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        return [pickler.dumps(f)]
    except Exception as error:
        raise _cannot_be_sent(getattr(f, "__qualname__", type(f).__name__), error) from None


def _cannot_be_sent(what, reason):
    return FarmError(
        f"farm: {what} cannot be sent to worker processes ({reason}): define it at the top of a module, or install cloudpickle"
    )


def _send(pipe, parts):
    """Send what is small in one message, each large array after it."""
    large = [part for part in parts if isinstance(part, memoryview)]
    pipe.send_bytes(pickle.dumps([None if isinstance(part, memoryview) else part for part in parts]))
    for part in large:
        pipe.send_bytes(part)


def _received(pipe) -> Any:
    """Parts as they were sent; arrays are in memory that may be written to."""
    return [bytearray(pipe.recv_bytes()) if part is None else part for part in pickle.loads(pipe.recv_bytes())]


def _ending(code):
    if code is not None and code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with status {code}"
