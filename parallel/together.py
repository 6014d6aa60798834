"""Steps that all ranks take together: an error of any of them is one of all."""

from contextlib import contextmanager

from .communicator import world
from .errors import CollectiveError


@contextmanager
def on_all_ranks(what, comm=None):
    """Raise on every rank what any of them raises within: its own error on a rank that has one, CollectiveError on the others.

    what: text for messages, the same on all ranks. comm: of the ranks, by default all. They leave together: what one has
    written another may read.
    """
    failed = None
    try:
        yield
    except Exception as error:  # also one of a file that only this rank cannot read
        failed = error
    comm = world() if comm is None else comm
    if comm.size == 1:
        if failed is not None:
            raise failed
        return
    told = None if failed is None else f"{type(failed).__name__}: {failed}"
    if comm.same(repr(told is None).encode(), label=what, told=what) and told is None:
        return
    words = comm.distinct(told, most=4, label=what)
    if failed is not None:
        raise failed
    word = next(word for word in words if word.what is not None)
    raise CollectiveError(f"{what}: rank {comm.ranks[word.rank]} raised {word.what}")
