"""What the ranks tell each other before a collective of a map: where each stands, and what its value is made of.

Ranks run the same program on different lanes, so at one collective a rank may hold a plain number where another holds
a value that a transformation around the map follows (`psum(w * x if x > 0 else 0.0)`). The rules of the collectives
communicate too, so all ranks must then follow it: `alike` exchanges the layers and lifts the value to those of any
rank.

Nor does a rank know what the lanes of the others have answered Python, on which it depends whether the result of a
collective is one value or one of each lane (`Axis.varying`). So each message carries the answers so far.
"""

import zlib

import numpy as np

from ..ad import Dual, Reverse
from ..ad.tape import Taped
from ..dispatch import LaneSplitError, Layer, open_runs
from ..dsl import Batched, Replicated, Traced, broadcast_to
from ..dsl.avals import dtype_of, is_number, shape_of
from ..dsl.batching import Split
from ..dsl.ops.create import zeros_like
from ..dsl.vmap import with_one_dtype
from .guard import CollectiveError


class Restart(BaseException):
    """Lanes of different ranks turn out to go different ways after a collective: all ranks run the map again."""


KINDS = {kind.__name__: kind for kind in (Batched, Dual, Replicated, Reverse, Taped, Traced)}


def meet(blocks, place, detail=None):
    """Tell all ranks where this one stands in a map and return what each has told as `detail`.

    blocks: the lanes of the map on the ranks. place: text, which must be equal on all ranks, but for two: "error"
    (detail: class name and message) and "split" (detail: depth of an enclosing map, groups of its lanes) of one rank
    are raised on every rank. Raises LaneSplitError for ranks at different places, CollectiveError for another's error,
    Restart if the lanes have gone different ways after a collective. What is raised has the attribute `met`: all ranks
    know of it. An error that all ranks know of ends the map: it is raised again by every later call.
    """
    axis = blocks.axis
    if axis is not None and axis.failure is not None:
        raise axis.failure
    mine = (place, detail, None if axis is None else axis.way())
    mark = zlib.crc32(repr(mine).encode())
    comm = blocks.comm
    marks = comm.allgather(np.int64(mark), label=blocks.name)
    found = [mine] * comm.size if (marks == mark).all() else comm.gather_objects(mine, label=blocks.name)
    try:
        _raise_for_all(blocks, found, place)
    except BaseException as error:
        error.met = True
        if axis is not None:
            axis.note(error)
        raise
    return [detail for _, detail, _ in found]


def _raise_for_all(blocks, found, place):
    for rank, (there, detail, _) in enumerate(found):
        if there == "error" and place != "error":
            kind, message = detail
            raise LaneSplitError(message) if kind == "LaneSplitError" else CollectiveError(
                f"{blocks.name}: rank {rank} raised {kind}: {message}"
            )
    if place == "error":
        return  # its own error goes on
    for there, detail, _ in found:
        if there == "split":
            depth, groups = detail
            raise Split(run_at(depth), groups)
    if len({way for *_, way in found}) > 1:
        blocks.axis.part({there for there, *_ in found})
    if len({there for there, *_ in found}) > 1:
        lines = "".join(f"\n  rank {r}, {blocks.lanes(r)}: {there}" for r, (there, *_) in enumerate(found))
        raise LaneSplitError(
            f"{blocks.name}: the lanes meet different collectives:{lines}\nA collective that only some lanes take has "
            "no meaning: call it before the branch, or in every branch"
        )


def run_at(depth):
    """The enclosing transformation of this depth."""
    return next(run for run in open_runs() if run.depth == depth)


def alike(blocks, place, x, lanes=False):
    """x with the layers that the value has on any rank, and a Python number in the dtype of the others.

    lanes: x holds lanes along axis 0, whose number may differ between ranks. All ranks call it.
    Raises LaneSplitError for different shapes or dtypes.
    """
    detail = (layers(x), shape_of(x)[int(lanes) :], *_dtype(x))
    found = meet(blocks, place, detail)
    if all(each == detail for each in found):
        return x
    dtypes = {np.dtype(dtype) for *_, dtype, weak in found if not weak}
    kinds = {f"{dtype}{list(shape)}" for _, shape, dtype, weak in found if not weak}
    misfit = any(weak and not np.can_cast(dtype, d, "same_kind") for *_, dtype, weak in found for d in dtypes)
    if len(kinds) > 1 or len({shape for _, shape, *_ in found}) > 1 or misfit:
        kinds |= {"a number" for *_, weak in found if weak}
        error = LaneSplitError(
            f"{blocks.name}: lanes of different ranks give {' and '.join(sorted(kinds))} for {place}; every path must "
            "give one shape and dtype"
        )
        error.met = True  # on all ranks
        if blocks.axis is not None:
            blocks.axis.note(error)
        raise error
    (x,) = with_one_dtype([x], dtypes)
    wanted = {}
    for each, *_ in found:
        for depth, kind in each:  # Batched takes in Replicated of the same depth
            wanted[depth] = min(kind, wanted.get(depth, kind))
    return lifted(x, sorted(wanted.items(), reverse=True))


def _dtype(x):
    """The dtype as text, and whether it is a number's, which follows the others: then the least that holds it."""
    return (np.min_scalar_type(x).str, True) if is_number(x) else (str(dtype_of(x)), False)


def layers(x):
    """The layers of a value as pairs (depth, kind), outermost first."""
    found = []
    while isinstance(x, Layer):
        found.append((x.depth, type(x).__mro__[1].__name__))
        x = x.below
    return tuple(found)


def lifted(x, wanted):
    """x with these layers (pairs (depth, kind), deepest first); new ones say that it is constant."""
    if not wanted:
        return x
    (depth, kind), *rest = wanted
    cls = type(x)
    if not isinstance(x, Layer) or cls.depth != depth:
        return _wrapped(lifted(np.asarray(x)[()] if is_number(x) else x, rest), KINDS[kind], run_at(depth))
    if isinstance(x, Traced):
        return x
    below = lifted(x.below, rest)
    if isinstance(x, Replicated) and kind == "Batched":
        return _wrapped(below, Batched, x.run)
    if isinstance(x, Reverse):
        return cls(below, x.run, x.index)
    return cls(below, x.tangent, x.run) if isinstance(x, Dual) else cls(below, x.run)


def _wrapped(x, kind, run):
    cls = kind[run.depth]
    if kind is Dual:
        return cls(x, zeros_like(x), run)
    if issubclass(kind, Reverse):
        run.append(((), (), x, ()))  # a node without parents
        return cls(x, run, len(run.tape) - 1)
    if kind is Traced:
        return cls(run.atom(x), run)
    return cls(broadcast_to(x, shape=(run.size, *shape_of(x))) if kind is Batched else x, run)
