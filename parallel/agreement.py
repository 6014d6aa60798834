"""What the ranks tell each other before a collective of a map: where each stands, and what its value is made of.

Ranks run the same program on different lanes, so at one collective a rank may hold a plain number where another holds
a value that a transformation around the map follows (`psum(w * x if x > 0 else 0.0)`). The rules of the collectives
communicate too, so all ranks must then follow it: `unified` exchanges the layers and lifts the value to those of any
rank.

Nor does a rank know what the lanes of the others have answered Python, on which it depends whether the result of a
collective is one value or one of each lane (`Axis.varying`). So each message carries the answers so far.
"""

from typing import NamedTuple

import numpy as np

from ..ad import Dual, Reverse
from ..ad.styles.gradient_tape import Taped
from ..ad.taylor.series import Series
from ..dispatch import LaneSplitError, Layer, open_runs, snapshot
from ..dsl import Batched, Replicated, Traced, broadcast_to
from ..dsl.avals import dtype_of, is_number, shape_of
from ..dsl.layers.mapped_outputs import with_one_dtype
from ..dsl.layers.splitting import Split
from ..dsl.ops.create import zeros_like
from .checksums import dtype_text, layers
from .errors import CollectiveError, CollectiveMismatch
from .group import Word, lines


class Restart(BaseException):
    """Lanes of different ranks turn out to go different ways after a collective: all ranks run the map of this depth again."""

    def __init__(self, depth):
        self.depth = depth


START = "the start"
OUTSIDE = "outside"  # where no map is under way, as in a derivative backwards
WORDS, STARTS = 64, 8  # different things of the ranks that each of them hears at a meeting, and of its starts
CALLED = " called at "  # before the line that calls a collective, in the place of a meeting, where that is compared
NAMES = {"ReverseRun": "a derivative backwards", "ForwardRun": "a derivative forwards", "SeriesRun": "a Taylor series",
         "PatternRun": "a sparsity pattern", "LanesRun": "a map", "TraceRun": "a trace", "JitRun": "jit",
         "TapeRun": "a tape", "VariableRun": "variables"}  # fmt: skip
SAME_CALLS = (
    "\nEvery rank must make the same calls in the same order: look for a branch, a loop count or an error caught that depends "
    "on the rank"
)
LAYER_KINDS = {kind.__name__: kind for kind in (Batched, Dual, Replicated, Reverse, Series, Taped, Traced)}


class Met(NamedTuple):
    """A meeting's words: what was told as `detail`, one Word for each different one, that of the lowest rank first. unanimous:
    all ranks have told the same, and whatever else they compared is the same too."""

    words: list
    unanimous: bool

    @property
    def details(self):
        """The different things that were told."""
        return [word.what for word in self.words]


def meet(blocks, place, detail=None, also=()):
    """Tell all ranks where this one stands in a map, and learn which different things they have told as `detail`: a `Met`.
    Where all have told the same, it costs one message of a few bytes and no work that grows with the ranks; else some messages
    for each different thing, and no rank hears each of the others.

    blocks: the lanes of the map on the ranks. place: text, which must be equal on all ranks, but for three: "error" (detail:
    class name and message), "split" (detail: depth of an enclosing map, groups of its lanes) and "restart" (detail: depth of an
    enclosing map) of one rank are raised on every rank. also: is compared, and not told. Raises LaneSplitError for ranks at
    different places, CollectiveMismatch for ranks in different calls, CollectiveError for another's error, Restart if the lanes
    have gone different ways after a collective. What is raised has the attribute `met`: communicators all of whose ranks know
    of it. An error that all ranks know of ends the map: it is raised again by every later call.

    The first meeting of a map is where the ranks compare how they have called it (`RankAxis.start`).
    """
    axis = blocks.axis
    if axis is not None and axis.failure is not None:
        raise axis.failure
    start, way = (None, OUTSIDE) if axis is None else (axis.start, axis.way())
    comm = blocks.comm
    if comm.same(repr((start, place, detail, also, way)).encode(), label=blocks.name, told=place):
        if axis is not None:
            axis.start = None
        return Met([Word(detail, 0, comm.size)], True)
    try:
        if not comm.same(repr(start).encode(), label=blocks.name, told=place):
            _raise_for_starts(blocks, comm.distinct((start, place), most=STARTS, label=blocks.name))
        if axis is not None:
            axis.start = None
        ways = comm.same(repr(way).encode(), label=blocks.name, told=place)
        told = place, detail, way == OUTSIDE
        found = comm.distinct(told, first=place in ("error", "split", "restart"), most=WORDS, label=blocks.name)
        found.sort(key=lambda word: word.rank)
        _raise_for_all(blocks, found, place, not ways)
    except BaseException as error:
        note_met(error, comm)
        if axis is not None:
            axis.note(error)
        raise
    return Met([word._replace(what=word.what[1]) for word in found], False)


def note_met(error, comm):
    """Note that all ranks of a communicator know of an error."""
    error.met = {*getattr(error, "met", ()), comm}


def is_met(error, comm):
    """Return whether all ranks of a communicator know of an error."""
    return comm in getattr(error, "met", ())


def lanes_told(blocks, words):
    """Words as lines, each with the lanes of its lowest rank."""
    return lines(words, blocks.comm.size, lambda rank: f"rank {blocks.comm.ranks[rank]}, {blocks.lanes(rank)}")


def _raise_for_starts(blocks, found):
    """Raise for ranks whose first meeting of a map this is with others where it is not, or with another call."""
    starts = [word._replace(what=word.what[0]) for word in found]
    if any(start.what is None for start in starts):
        places = lanes_told(blocks, [word._replace(what=word.what[1]) for word in found])
        raise CollectiveMismatch(f"{blocks.name}: the ranks are not in the same call of a map:{places}{SAME_CALLS}")
    blocks.axis.refuse(starts)


def _raise_for_all(blocks, found, place, parted):
    """Raise what the ranks have told, Words of (place, detail, whether outside of the map), unless it lets them go on. parted:
    their lanes have gone different ways."""
    for (there, detail, _), rank, _ in found:
        if there == "error" and place != "error":
            kind, message = detail
            raise (
                LaneSplitError(message)
                if kind == "LaneSplitError"
                else CollectiveError(f"{blocks.name}: rank {blocks.comm.ranks[rank]} raised {kind}: {message}")
            )
    if place == "error":
        return  # its own error goes on
    for (there, detail, _), *_ in found:
        if there == "restart":
            raise Restart(detail)
    for (there, detail, _), *_ in found:
        if there == "split":
            depth, groups = detail
            raise Split(run_at(depth), groups)
    counts = {}
    for (there, *_), rank, count in found:
        first, before = counts.get(there, (rank, 0))
        counts[there] = first, before + count
    told = lanes_told(blocks, [Word(there, rank, count) for there, (rank, count) in counts.items()])
    if len({outside for (*_, outside), *_ in found}) > 1:
        raise CollectiveMismatch(
            f"{blocks.name}: the ranks are not in the same call of a map (some of them after the map, some inside):{told}"
            + SAME_CALLS
        )
    if parted:
        blocks.axis.part(set(counts))
    if len(counts) > 1:
        if len({there.partition(CALLED)[0] for there in counts}) == 1:
            raise CollectiveMismatch(
                f"{blocks.name}: the ranks are in different lines of the program:{told}\nEvery rank must make the same calls "
                "in the same order; POLYAD_COLLECTIVE_CHECK=strict compares where they are made"
            )
        raise LaneSplitError(
            f"{blocks.name}: the lanes meet different collectives:{told}\nA collective that only some lanes take has "
            "no meaning: call it before the branch, or in every branch"
        )
    if sum(word.count for word in found) < blocks.comm.size:
        raise CollectiveMismatch(f"{blocks.name}: the ranks tell more than {WORDS} different things at {place}, such as:{told}")


def run_at(depth):
    """The enclosing transformation of this depth."""
    return next(run for run in open_runs() if run.depth == depth)


def kinds_around():
    """Pairs (depth, kind) of the enclosing transformations, outermost first."""
    return tuple([(run.depth, type(run).__name__) for run in reversed(open_runs())])


def transformations(kinds):
    """Such kinds as text."""
    return ", in it ".join([NAMES.get(kind) or kind for _, kind in kinds]) or "none"


def unified(blocks, place, x, lanes=False):
    """x with the layers that the value has on any rank, and a Python number in the dtype of the others; and whether it had this
    form on all ranks, so that what they do with it needs no comparison any more.

    lanes: x holds lanes along axis 0, whose number may differ between ranks. All ranks call it. Raises LaneSplitError for
    different shapes, dtypes or kinds of transformations around.
    """
    met = meet(blocks, place, (kinds_around(), *described(x, lanes)))
    if met.unanimous:
        return x, True
    found = met.details
    followed = {depth for _, each, *_ in found for depth, _ in each}
    if len({tuple([pair for pair in kinds if pair[0] in followed]) for kinds, *_ in found}) > 1:
        told = lanes_told(blocks, [word._replace(what=transformations(word.what[0])) for word in met.words])
        _fail(
            blocks,
            f"lanes of different ranks are inside of different transformations where they give their values for {place}:"
            f"{told}\nA derivative of which a collective is a part must be taken in all lanes",
        )
    found = [tuple(rest) for _, *rest in found]
    if len(set(found)) == 1:
        return x, True
    found = [(*rest, shape, dtype, weak) for *rest, _, shape, dtype, weak in found]
    dtypes = {np.dtype(dtype) for *_, dtype, weak in found if not weak}
    kinds = {f"{dtype}{list(shape)}" for _, shape, dtype, weak in found if not weak}
    misfit = any(weak and not np.can_cast(dtype, d, "same_kind") for *_, dtype, weak in found for d in dtypes)
    if len(kinds) > 1 or len({shape for _, shape, *_ in found}) > 1 or misfit:
        kinds |= {"a number" for *_, weak in found if weak}
        told = " and ".join(sorted(kinds))
        _fail(blocks, f"lanes of different ranks give {told} for {place}; every path must give one shape and dtype")
    (x,) = with_one_dtype([x], dtypes)
    wanted = {}
    for each, *_ in found:
        for depth, kind in each:  # Batched takes in Replicated of the same depth
            wanted[depth] = min(kind, wanted.get(depth, kind))
    return lifted(x, sorted(wanted.items(), reverse=True)), False


def _fail(blocks, message):
    """Raise a LaneSplitError that all ranks raise."""
    error = LaneSplitError(f"{blocks.name}: {message}")
    note_met(error, blocks.comm)
    if blocks.axis is not None:
        blocks.axis.note(error)
    raise error


def described(x, lanes):
    """The form of a value, by which ranks compare: its layers, their numbers of lanes, its shape without that of `lanes`, dtype
    and whether it is a number. Of values of one form, each operation sends arrays of one shape and dtype."""
    sizes, below = [], x
    while isinstance(below, Layer):
        if isinstance(below, Batched):
            sizes.append(below.run.size)
        below = below.below
    return layers(x), tuple(sizes), shape_of(x)[int(lanes) :], *_dtype_text(x)


def _dtype_text(x):
    """The dtype as text, and whether it is a number's, which follows the others: then the least that holds it."""
    return (np.min_scalar_type(x).str, True) if is_number(x) else (dtype_text(dtype_of(x)), False)


def lifted(x, wanted):
    """x with these layers (pairs (depth, kind), deepest first); new ones say that it is constant."""
    if not wanted:
        return x
    (depth, kind), *rest = wanted
    cls = type(x)
    if not isinstance(x, Layer) or cls.depth != depth:
        below = lifted(np.asarray(x)[()] if is_number(x) else x, rest)
        return _wrapped(below, LAYER_KINDS[kind], run_at(depth)) if kind in LAYER_KINDS else run_at(depth).constant(below)
    if isinstance(x, Traced):
        return x
    below = lifted(x.below, rest)
    if isinstance(x, Replicated) and kind == "Batched":
        return _wrapped(below, Batched, x.run)
    y = snapshot(x)
    setattr(y, "value" if "value" in x.state else "primal", below)
    return y


def _wrapped(x, kind, run):
    cls = kind[run.depth]
    if kind is Dual:
        return cls(x, zeros_like(x), run)
    if kind is Series:
        return run.wrap(x, [zeros_like(x)] * run.order)  # not None, which says that there is nothing to find
    if issubclass(kind, Reverse):
        run.append(((), (), x, ()))  # a node without parents
        return cls(x, run, len(run.tape) - 1)
    if kind is Traced:
        return cls(run.atom(x), run)
    return cls(broadcast_to(x, shape=(run.size, *shape_of(x))) if kind is Batched else x, run)
