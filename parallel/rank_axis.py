"""The lanes of a map on the ranks: where they lie, how they keep in step, and how their results become one."""

import contextlib
import re
import threading
import zlib
from typing import Any

import numpy as np

from ..dispatch import LaneSplitError, LeakedLayerError, is_container, open_runs, tree
from ..dsl import broadcast_to
from ..dsl.avals import shape_of
from ..dsl.axes import Axis, Stacked, enclosing_axes
from ..dsl.layers.mapped_inputs import MappedContainer
from ..dsl.layers.mapped_outputs import with_one_dtype
from ..dsl.layers.splitting import Split
from .agreement import CALLED, START, Restart, described, is_met, kinds_around, meet, note_met, transformations
from .captured import reads, reads_given
from .checksums import checksum
from .closures import Watch, substituted
from .collectives import Blocks, first, gather, gather_agreed, split, vary
from .combining import combined
from .errors import CollectiveError
from .fingerprints import differing, marks
from .group import Word, lines
from .sharded.lanes import OwnLanes, as_compared, is_kept, kept_lanes
from .signature import call_site
from .structures import told


class WholeAxis(Axis):
    """A mapped axis all of whose lanes are run by each process. kept_on: the mesh, and its axis, on which results that differ
    between lanes stay as Sharded arrays, or None."""

    kept_on: Any = None

    def join(self, outputs):
        structure, units = outputs.leaves()
        return structure, [self._kept(unit, self._whole_value) if is_kept(unit) else unit for unit in units]

    def _kept(self, unit, own):
        return unit if self.kept_on is None else kept_lanes(unit, own, self.kept_on, self.size)

    def _whole_value(self, leaf):
        return leaf.value


class RankAxis(WholeAxis):
    """A mapped axis whose lanes lie on the ranks of a communicator; see `Axis`.

    failure: the error that all ranks have met and that ends the map, whatever the mapped function makes of it. takes: what of
    the ranks it uses, the axis of a mesh or the whole world: maps inside it use others.
    """

    spans_processes = True
    failure = None
    start: Any = None  # how this rank has called the map and with what, until the ranks have compared it
    done = 0  # collectives over the axis so far, the same number on all ranks

    def __init__(self, comm, name, axis_name, size, depth, takes: Any = "world"):
        super().__init__(axis_name, size, depth)
        self.takes = takes
        self.blocks = Blocks(comm, size, name)
        self.local, self.counts = self.blocks.local, self.blocks.kept == self.blocks.local
        self.offset = self.blocks.start if self.blocks.kept else 0
        self.watch = Watch()

    # ---------------------------------------------------------------------- which way the lanes go
    def way(self):
        """Return what the lanes here have answered Python, for comparison between the ranks; None if that matters no more."""
        return None if self.varying else self.answers

    def diverge(self, log):
        if self.done:
            self.answers = -1 - self.blocks.rank  # no other's
            meet(self.blocks, "answers that differ")
        self.varying = True  # before any collective: the others learn it when all ranks meet

    def part(self, places):
        """Lanes of the ranks have gone different ways, as all ranks have just learnt where they stand."""
        if self.done or places != {"the end"}:
            raise Restart(self.depth)
        self.varying = True  # there were no collectives

    def settle_around(self):
        """Have the ranks of this axis know one answer of the lanes of each map around, before these meet on other ranks: what
        they were asked here may have depended on the lanes of this one."""
        around = [axis for axis in enclosing_axes() if isinstance(axis, RankAxis) and axis.depth < self.depth]
        if around:
            told = meet(self.blocks, "the answers of the lanes around", tuple([axis.way() for axis in around])).details
            for axis, ways in zip(around, zip(*told, strict=True), strict=True):
                if len(set(ways)) > 1 and not axis.varying:
                    axis.answers = zlib.crc32(repr(sorted(set(ways), key=str)).encode())

    def restart(self):
        """Before the map is run again."""
        self.varying, self.done = True, 0

    def note(self, error):
        """An error that all ranks know of; signals only end a pass."""
        if isinstance(error, Exception) and self.failure is None:
            self.failure = error

    # ---------------------------------------------------------------------- into the map and between its lanes
    def enter(self, f, inputs, out_axes):
        """Give the lanes here their part of the inputs, and make varying what f reads besides. Returns such an f."""
        for run in open_runs():
            run.has_acted()  # the ranks have met
        if self.blocks.comm.checked:
            self._check_inputs(f, inputs, out_axes)
        inputs.units = [
            self._lanes(x) if mapped else tree.map(self._vary, x) for x, mapped in zip(inputs.units, inputs.mapped, strict=True)
        ]
        f = substituted(f, self._vary) if self.watch else f
        self.watch.start()
        return f

    def _check_inputs(self, f, inputs, out_axes):
        """Have the ranks compare, where they meet first, whether they have called the map in the same way and with the same
        arguments."""
        how = (
            ("the transformations around it", transformations(kinds_around())),
            ("the thread", re.sub(r"-?\d+", "", threading.current_thread().name)),
            ("axis_name", repr(self.name)),
            ("in_axes", tuple([axis if axis is None else int(axis) for axis in inputs.axes])),
            ("out_axes", re.sub(r"np\.int64\((-?\d+)\)", r"\1", repr(out_axes))),
        )
        given = as_compared(inputs.given)
        what = [*marks(f, given), ("the number of lanes", inputs.size, ()), *self._reads(f, inputs.given)]
        self.start = how, what
        if self.blocks.comm.strict:
            meet(self.blocks, START)

    def refuse(self, starts):
        """Raise, on all ranks, what differs between the calls of which they have told (Words)."""
        for i, (name, _) in enumerate(starts[0].what[0]):
            values = {}
            for word in starts:
                value = word.what[0][i][1]
                first, count = values.get(value, (word.rank, 0))
                values[value] = min(first, word.rank), count + word.count
            if len(values) > 1:
                told = [Word(value, self.blocks.comm.ranks[rank], count) for value, (rank, count) in values.items()]
                shown = lines(told, self.blocks.comm.size)
                self._refuse(f"{name}: not the same on all ranks:{shown}\nEvery rank calls a map in the same way")
        different = differing([word.what[1] for word in sorted(starts, key=lambda word: word.rank)])
        if different is not None:
            self._refuse(
                f"{different} differs between the ranks, which would mix silently: each rank gives the same full arguments, "
                "and the same function; broadcast them from one rank (world().bcast), or seed random numbers alike. "
                "POLYAD_COLLECTIVE_CHECK=0 leaves this check out"
            )

    def _reads(self, f, given):
        return [*reads(f), *reads_given(given)] if self.blocks.comm.strict else ()

    def _refuse(self, message, kind: type[Exception] = CollectiveError):
        """Raise an error that all ranks raise."""
        error = kind(f"{self.blocks.name}: {message}")
        note_met(error, self.blocks.comm)
        raise error

    def _vary(self, x):
        return vary(x, self.blocks)

    def _lanes(self, x):
        if type(x) is OwnLanes:
            self.given(x.leaf)
            return x.value
        if type(x) is not MappedContainer:
            return split(x, self.blocks)
        x.split(lambda leaf: split(leaf, self.blocks))
        return x

    def own(self, lanes):
        return self.blocks.own(lanes)

    def across(self, how, value, here, own, **params):
        place = f"{how}{list(params.values()) or ''} over the axis {self!r}"
        if self.blocks.comm.strict and not self.varying:  # else each lane may call it in a branch of its own
            place += CALLED + call_site()
        for axis in reversed(self.inside):
            axis.settle_around()
        try:
            y = combined(how, value, here, own, self.blocks, place, params)
        except CollectiveError as error:
            self.note(error)
            raise
        self.done += 1
        return y

    def given(self, x):
        if self.watch:
            self.watch.allow(x)

    def leave(self, signal):
        if is_met(signal, self.blocks.comm):
            return
        if isinstance(signal, Split):
            meet(self.blocks, "split", (signal.run.depth, signal.groups))
        else:
            run = signal.run
            meet(self.blocks, f"{signal.signature[0]} over the enclosing axis {run.axis!r}, collective {run.position}")

    @contextlib.contextmanager
    def in_step(self):
        """An error of the lanes here becomes one of all ranks, which would wait for this one otherwise."""
        self.blocks.axis, around = self, enclosing_axes()
        for axis in around:
            axis.inside.append(self)
        try:
            yield
        except Restart as signal:
            if not is_met(signal, self.blocks.comm):
                meet(self.blocks, "restart", signal.depth)
            raise
        except Exception as error:
            engine = isinstance(error, CollectiveError) and not hasattr(error, "met")  # all its ranks have raised it
            if not (engine or is_met(error, self.blocks.comm)) and self.failure is None:
                meet(self.blocks, "error", (type(error).__name__, str(error)))
            raise
        finally:
            for axis in around:
                axis.inside.remove(self)
            self.blocks.axis = self.failure = None  # an error holds the frames it went through

    def join(self, outputs):
        """The results over all lanes: what all ranks have in common as it is, the rest gathered."""
        self.settle_around()
        structure, units = outputs.leaves()
        leaves = [leaf for unit in units for leaf in tree.leaves(unit)]
        escaped = self.watch.escaped([leaf.value for leaf in leaves]) if self.watch else None
        mine = (
            told(tree.unflatten(structure, units), lambda leaf: "*"),
            [(leaf.same, *described(leaf.value, not leaf.same)) for leaf in leaves],
            escaped and f"{escaped.name} (entered at {escaped.where})",
        )
        whole = [checksum(leaf.value) if leaf.same and self._whole else None for leaf in leaves]
        met = meet(self.blocks, "the end", (kinds_around(), *mine), also=whole)
        _, structures, ranks, escapes = zip(*met.details, strict=True)
        self._check(structures, escapes)
        columns = list(zip(*ranks, strict=True))
        if not met.unanimous and self._whole:
            self._check_same(columns, whole)
        kept = set()  # leaves that stay where they are
        if self.kept_on is not None:
            kept = {id(leaf) for unit in units if is_kept(unit) for leaf in tree.leaves(unit)}
        merged = iter(self._merge(leaves, columns, kept))
        fill = lambda leaf: next(merged)
        filled = [tree.map(fill, unit) if is_container(unit) else fill(unit) for unit in units]
        return structure, [self._kept(unit, self._whole_value) if kept and is_kept(unit) else unit for unit in filled]

    @property
    def _whole(self):
        """True if results that hold no lane's value are taken for one value of all lanes, and compared."""
        return not self.varying and self.blocks.comm.checked

    def _check(self, structures, escapes):
        """Errors that every rank raises, as it knows what the others know."""
        for escape in filter(None, escapes):
            self._refuse(
                f"the function reads a value of {escape} that is neither an argument nor in its closure, so its derivative "
                "would lack the other ranks' part; give it as an argument with in_axes=None",
                LeakedLayerError,
            )
        for other in structures:
            if other != structures[0]:
                self._refuse(
                    f"lanes return different structures: {structures[0]} and {other}; every path must return the same types, "
                    "with the same static parts",
                    LaneSplitError,
                )

    def _check_same(self, columns, whole):
        """Results that hold no lane's value are one value of all lanes: raise where it is not the same on all ranks. whole: a
        checksum of each here."""
        here = np.array([-1 if mark is None else mark for mark in whole], np.int64)
        least, most = self.blocks.comm.allreduce(np.stack([here, -here]), "min", label=self.blocks.name)
        for i, column in enumerate(columns):
            forms = {form[3:] for form in column}  # shape, dtype, whether it is a number
            if all(same for same, *_ in column) and (len(forms) > 1 or least[i] != -most[i]):
                shown = {f"{'a number' if weak else dtype}{list(shape) or ''}" for shape, dtype, weak in forms}
                kinds = f" ({' and '.join(sorted(shown))})" if len(shown) > 1 else ""
                self._refuse(
                    f"result {i} of {len(columns)} is the same in all lanes of each rank, but differs between the "
                    f"ranks{kinds}: the function reads something of its rank (a number, a file, the time); let it depend on "
                    "the lanes (arguments, axis_index), or combine it with psum. POLYAD_COLLECTIVE_CHECK=0 leaves this "
                    "check out"
                )

    def _merge(self, leaves, columns, kept):
        """The results over all lanes; of `kept` (ids) those here. columns: of each its different forms on the ranks."""
        common = [not self.varying and all(same for same, *_ in column) for column in columns]
        apart = [
            (id(leaf) in kept, self._counting(leaf, column))
            for leaf, column, whole in zip(leaves, columns, common, strict=True)
            if not whole
        ]
        here = iter([value for stays, value in apart if stays])
        values = [value for stays, value in apart if not stays]
        if columns and len(columns[0]) == 1:
            gathered = iter(gather_agreed(values, self.blocks))
        else:
            gathered = (gather(value, self.blocks, "the same result") for value in values)
        whole = lambda leaf: Stacked(first(leaf.value, self.blocks), True)
        apart = lambda leaf: Stacked(next(here if id(leaf) in kept else gathered), False)
        return [whole(leaf) if same else apart(leaf) for leaf, same in zip(leaves, common, strict=True)]

    def _counting(self, leaf, column):
        """Of one result the lanes here that count, in the dtype that it has on all ranks."""
        (value,) = with_one_dtype([leaf.value], {np.dtype(dtype) for *_, dtype, weak in column if not weak})
        if leaf.same:
            value = broadcast_to(value, shape=(self.local, *shape_of(value)))
        return self.own(value)
