"""`farm`: a function of each item, on all ranks or on processes of this one, as they become free: Julia's `pmap`.

Where there are ranks, rank 0 hands out, works too, and has the results; why that is not done by `mpi4py.futures` is told in
tutorials/decisions/0029-a-farm-hands-out-by-itself.md.
"""

from __future__ import annotations

import contextlib
import operator
import os
from typing import TYPE_CHECKING, Any

from ..dispatch import current_depth
from ..dsl.layers.vmap import title
from .communicator import in_item, world
from .farm_outcomes import DONE, FAILED, dumps, loads, pack, unpack
from .farm_processes import Children
from .farm_progress import bar
from .farm_ranks import InThread, Ranks, Worker, channel_of
from .farm_schedule import InPlace, OfExecutor, Schedule
from .signature import Signature
from .timeline import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

AHEAD = 4  # batches for each worker that `farm_iter` has under way or waiting, unless told


def farm(
    f: Callable[..., Any],
    items: Iterable[Any],
    *more: Iterable[Any],
    batch: int = 1,
    workers: int | None = None,
    on_error: Callable[[Any], Any] | None = None,
    retry: Any = 0,
    retry_check: Callable[[Any], Any] | None = None,
    progress: bool | str = False,
    replicate: bool = True,
    executor: Any = None,
) -> list[Any]:
    """Apply f to each item, on whichever worker is free: the list of the results, in the order of the items.

    f: any function; items, more: iterables, as for `map`. batch: how many items a worker gets at a time: larger ones cost less
    each where f takes less than a millisecond. workers: None, the ranks of the job, or this process if there are none; a
    number, as many child processes of this process, or of each rank. progress: True, or text, for a bar (on rank 0; drawn by
    tqdm or rich, if one of them is installed).

    Errors. An error of f ends the farm: items that have not been begun are not, and it is raised, with the number of the item
    and the traceback of its worker. `on_error(error)`, called here (on rank 0), gives the result in its place instead, or
    raises. retry: how often an item is tried again, or the seconds to wait before each such try; `retry_check(error)`: whether
    to. Julia calls on_error first, so that an item is retried only if that raises; here it is called when no retry is left.
    An error that cannot be sent is a FarmError with its type and text, and so is an item or a result that cannot be pickled.

    Ranks: a farm is a collective. Every rank calls it, with its own f, which is not sent and may be a lambda; the items are
    those of rank 0, those of other ranks are not looked at. All ranks return the results, and raise the error; with
    replicate=False the other ranks return None. f runs in a thread on rank 0. In an item `world()` is one process: a farm, a
    map or a collective in it is done in place, and so is a farm in a transformation. After an error, a rank that is at work
    comes out of the farm when its item is done.

    A worker that dies: among `workers=` child processes that is the WorkerDied of one item, which is retried, or goes to
    on_error; the child is replaced. A rank that dies ends the job, as MPI has it: workers=1 has each rank apply f in a child.
    f goes to child processes by pickle, or cloudpickle if it is installed, and a script that uses them has
    `if __name__ == "__main__":`. executor: those of `concurrent.futures` and `mpi4py.futures` instead, this process alone.

    Nothing random is shared: `pa.random.fold_in(key, i)` is the key of item i, whatever works on it.
    Raises ValueError, TypeError for arguments that make no sense; on ranks CollectiveError if one does not come.

    >>> import polyad as pa
    >>> pa.farm(lambda x: 1 / x, [1, 2, 0], on_error=lambda error: None)
    [1.0, 0.5, None]
    """
    call = _Call("farm", f, (items, *more), batch, workers, executor, on_error, retry, retry_check)
    comm = _ranks_of(call)
    if comm is None or comm.size == 1:
        with contextlib.closing(call.workers()) as made, call.schedule(progress) as schedule:
            return list(schedule.run(made))
    local = call.local()
    with comm.map_under_way(call.name):
        state, value = comm._link.run(call.signature(), _over_ranks, comm, call, local, progress, replicate)
    if state is FAILED:
        raise value
    return value


def farm_iter(
    f: Callable[..., Any],
    items: Iterable[Any],
    *more: Iterable[Any],
    batch: int = 1,
    buffersize: int | None = None,
    workers: int | None = None,
    on_error: Callable[[Any], Any] | None = None,
    retry: Any = 0,
    retry_check: Callable[[Any], Any] | None = None,
    progress: bool | str = False,
    executor: Any = None,
) -> Iterator[Any]:
    """Iterate over the results of `farm` as they come, in the order of the items, which are taken as they are needed.

    The items may be without end. buffersize: how many may be under way or wait for their turn, by default four batches for each
    worker. Else as for `farm`. Where there are ranks, rank 0 gets the results; the others work, and get none: the body of the
    loop runs on rank 0 alone, and must not make collectives. A loop that is left early ends the farm; an error of an item is
    raised on all ranks.

    >>> import itertools, polyad as pa
    >>> next(y for y in pa.farm_iter(lambda x: x * x, itertools.count()) if y > 50)
    64
    """
    call = _Call("farm_iter", f, (items, *more), batch, workers, executor, on_error, retry, retry_check)
    if buffersize is not None and operator.index(buffersize) < 1:
        raise ValueError(f"farm_iter: buffersize={buffersize} is not at least 1")
    return _results(call, progress, buffersize)


def _results(call, progress, buffersize):
    comm = _ranks_of(call)
    if comm is None or comm.size == 1:
        made = call.workers()
    else:
        state, made = comm._link.run(call.signature(), _start_over_ranks, comm, call, call.local())
        if state is FAILED:
            raise made
        if made is None:  # this rank has worked for rank 0
            return
    ahead = buffersize or AHEAD * made.free * call.batch
    with contextlib.closing(made), call.schedule(progress, ahead) as schedule:
        try:
            yield from schedule.run(made)
        except Exception as error:
            if comm is not None and comm.size > 1:
                made.close(FAILED, pack(FAILED, error)[1])
            raise


class _Call:
    """The arguments of a farm, checked."""

    def __init__(self, kind, f, iterables, batch, workers, executor, on_error, retry, retry_check):
        if not callable(f):
            raise TypeError(f"{kind}: f is a {type(f).__name__}, not a function; the items come second")
        for what, given in (("on_error", on_error), ("retry_check", retry_check)):
            if given is not None and not callable(given):
                raise TypeError(f"{kind}: {what} is a {type(given).__name__}, not a function of an error")
        for what, given in (("batch", batch), ("workers", workers)):
            if given is not None and operator.index(given) < 1:
                raise ValueError(f"{kind}: {what}={given} is not at least 1")
        if executor is not None and workers is not None:
            raise ValueError(f"{kind}: workers= and executor= are two ways to say what works on the items; give one")
        self.f, self.iterables, self.count, self.executor = f, iterables, workers, executor
        self.batch, self.on_error, self.retry_check = operator.index(batch), on_error, retry_check
        self.name, self.delays = title(kind, f), _delays(kind, retry)
        self.kind = kind

    def workers(self):
        """The workers of this process alone."""
        if self.executor is not None:
            return OfExecutor(self.f, self.executor, _size_of(self.executor))
        return self.local() or InPlace(watched(self.f, self.name))

    def local(self):
        """Child processes, if they are asked for."""
        if self.count is None or in_item.get() or current_depth():
            return None
        return Children(self.f, self.count)

    @contextlib.contextmanager
    def schedule(self, progress, ahead=None):
        with contextlib.ExitStack() as stack:
            report = None
            if progress:
                lengths = [len(each) for each in self.iterables if hasattr(each, "__len__")]
                total = min(lengths) if len(lengths) == len(self.iterables) else None
                report = stack.enter_context(bar(total, progress if isinstance(progress, str) else self.name))
            yield Schedule(
                self.name, zip(*self.iterables), self.batch, self.on_error, self.delays, self.retry_check, ahead, report
            )

    def signature(self):
        return Signature(self.kind, label=f"{self.name}, batch={self.batch}, workers={self.count}")


def _ranks_of(call):
    """The communicator over whose ranks this farm goes, or None."""
    return world() if call.executor is None and not current_depth() else None


def _delays(kind, retry):
    """Return the seconds to wait before each retry."""
    try:
        delays = [0.0] * operator.index(retry) if hasattr(retry, "__index__") else [float(seconds) for seconds in retry]
    except TypeError:
        raise TypeError(f"{kind}: retry is a {type(retry).__name__}, not a number of tries or a list of seconds") from None
    if hasattr(retry, "__index__") and operator.index(retry) < 0 or any(seconds < 0 for seconds in delays):
        raise ValueError(f"{kind}: retry={retry!r} must not be negative")
    return delays


def _size_of(executor):
    """Return how many calls an executor works on at a time."""
    count = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return count if type(count) is int and count > 0 else os.cpu_count() or 1


# --- over ranks, inside the collective --------------------------------------------------------------------------------
def _over_ranks(comm, call, local, progress, replicate):
    """(state, results or error), the same on all ranks: what is raised here would leave them out of step."""
    channel, local = _begin(comm, call, local)
    if channel.rank:
        return _work(channel, local, call)
    ranks = Ranks(channel, local, call.count or 1)
    try:
        with call.schedule(progress) as schedule:
            results = list(schedule.run(ranks))
        frames = _packed(call, results) if replicate else ()
    except BaseException as error:
        ranks.close(FAILED, pack(FAILED, error)[1])
        return FAILED, error
    ranks.close(DONE if replicate else None)
    if replicate:
        channel.broadcast(frames)
    return DONE, results


def _start_over_ranks(comm, call, local):
    """(state, workers) on rank 0; (state, None or an error) on the others, when it is over."""
    channel, local = _begin(comm, call, local)
    if channel.rank:
        return _work(channel, local, call)
    return DONE, Ranks(channel, local, call.count or 1)


def _begin(comm, call, local):
    channel = channel_of(comm)
    channel.farm += 1
    return channel, local or (InPlace if channel.rank else InThread)(watched(call.f, call.name))


def _work(channel, local, call):
    token = in_item.set(True)
    try:
        state, frames = Worker(channel, local).run()
    finally:
        in_item.reset(token)
    if state == FAILED:
        return unpack(FAILED, frames)
    return DONE, loads(channel.broadcast()) if state == DONE else None


def _packed(call, results):
    try:
        return dumps(results)
    except Exception:
        for index, result in enumerate(results):
            state, frames = pack(DONE, result)
            if state is FAILED:
                error = unpack(state, frames)[1]
                error.add_note(f"{call.name}: item {index}")
                raise error from None
        raise
