"""`pmap`: a function of one example becomes a function of many, spread over the ranks of the job.

Its meaning is `stack([f(x[k]) for k in range(n)])` for any n on any number of ranks: each rank runs a contiguous
block of the lanes as `vmap` does, and a collective over the axis reduces the lanes here first and then over the
ranks. Outside of the map everything is replicated: each rank holds the full arguments and gets the full results.

Lanes on different ranks may take different branches of a Python `if`. Two rules keep the ranks in step all the same:
collectives over the axis go through the log of `vmap`, so each rank meets the same ones in the same order; and every
value that enters the map (mapped arguments, other arguments, closure) is made varying before the first lane runs, in
the order of the arguments, so the collectives that sum its cotangents do not depend on what a lane does with it.
With each collective, and at the end, the ranks also compare what their lanes have answered Python. As long as that is
the same, the result of a collective is one value of all lanes; where it turns out to differ after a collective, all ranks
run the map again, with results of collectives that are each lane's own (`Axis.varying`).

A map inside another one takes another axis of the mesh (mesh.py); where there is none left it runs as `vmap` on each rank.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch import LaneSplitError, LeakedLayerError, current_depth, is_container, open_runs, tree
from ..dsl import broadcast_to
from ..dsl.avals import shape_of
from ..dsl.axes import Axis, Stacked, enclosing_axes
from ..dsl.layers.mapped_inputs import MappedContainer, MappedInputs
from ..dsl.layers.mapped_outputs import with_one_dtype
from ..dsl.layers.splitting import Split
from ..dsl.layers.vmap import map_lanes, title
from .agreement import CALLED, START, Restart, described, is_met, kinds_around, meet, note_met, transformations
from .captured import reads, reads_given
from .checksums import checksum
from .closures import Watch, substituted
from .collectives import Blocks, first, gather, gather_agreed, split, vary
from .combining import combined
from .errors import CollectiveError
from .fingerprints import differing, marks
from .group import Word, lines
from .mesh import ranks_for
from .signature import call_site
from .structures import told

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ..dispatch.annotations import P


def pmap(
    f: Callable[P, Any],
    axis_name: Hashable = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, on all ranks together: `stack([f(x[k]) for k in range(n)])`.

    f: function of arrays or trees of arrays. axis_name: name by which `psum` and its kin find the lanes of all ranks.
    in_axes, out_axes, axis_size: as for `vmap`; the axis may have any length, and every rank gives the same full
    arguments. Returns a function; its results are the same on every rank, and the same as those of `vmap` (sums may
    be added in another order). Derivatives, `vmap` and tracing work inside, outside and through it.

    A rank without a lane (of fewer lanes than ranks) runs lane 0 for the collectives in it; effects (`io_callback`,
    `debug_print`) are left out there, what Python does by itself is not.
    Without MPI, on one rank, or in a child process of a rank, it is `vmap`. Raises what `vmap` does, on every rank; an error
    that f raises on some ranks only is a CollectiveError on the others. CollectiveError, the same on all ranks: the ranks
    do not agree in the arguments and the arrays in f's closure (types, static parts, checksums of all elements), in_axes,
    out_axes, axis_name or the transformations around the map, or in a result that is the same in all lanes of each rank,
    but not on all ranks. By default f itself, functions among the arguments, the numbers and attributes that they read, and
    the order of equal collectives are not compared, and ranks that differ in these mix silently:
    POLYAD_COLLECTIVE_CHECK=strict compares the functions' code, what they read, and the lines that call collectives, and
    raises RankError where f reads `world().rank` (`MPI.COMM_WORLD.rank`, the process id, files and clocks it cannot see); 0
    compares nothing. CollectiveError too where another thread makes collectives while a map is under way, or a forked child
    makes any. LeakedLayerError: f reads a value that a derivative or trace around the map follows from where it cannot be
    found (a global variable): give it as an argument with in_axes=None.

    >>> import numpy as np, polyad as pa
    >>> pa.pmap(lambda x: x / pa.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        inputs = MappedInputs(title("pmap", f), args, kwargs, in_axes, axis_size)
        return map_over(*ranks_for(axis_name), f, inputs, axis_name, out_axes)

    return mapped


def map_over(comm, takes, f, inputs, axis_name, out_axes, told="out_axes"):
    """Run f over all lanes of the inputs, spread over the ranks of a communicator (None: each runs all). takes: see
    `RankAxis`. told: what the user calls out_axes."""
    name, depth = inputs.name, current_depth() + 1
    if comm is None or comm.size == 1:
        axis = Axis(axis_name, inputs.size, depth)
        axis.takes = takes
        return map_lanes(name, f, inputs, axis).assemble(out_axes, told)
    axis = RankAxis(comm, name, axis_name, inputs.size, depth, takes)
    with comm.map_under_way(name), axis.in_step():
        varying_f = axis.enter(f, inputs, out_axes)
        try:
            return map_lanes(name, varying_f, inputs, axis).assemble(out_axes, told)
        except Restart as signal:
            if signal.depth != depth:
                raise
            axis.restart()
        return map_lanes(name, varying_f, inputs, axis).assemble(out_axes, told)


class RankAxis(Axis):
    """A mapped axis whose lanes lie on the ranks of a communicator; see `Axis`.

    failure: the error that all ranks have met and that ends the map, whatever the mapped function makes of it. takes: what of
    the ranks it uses, the axis of a mesh or the whole world: maps inside it use others.
    """

    spans_processes = True
    failure = None
    start: Any = None  # how this rank has called the map and with what, until the ranks have compared it
    done = 0  # collectives over the axis so far, the same number on all ranks

    def __init__(self, comm, name, axis_name, size, depth, takes="world"):
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
        what = [*marks(f, inputs.given), ("the number of lanes", inputs.size, ()), *self._reads(f, inputs.given)]
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
        merged = iter(self._merge(leaves, columns))
        fill = lambda leaf: next(merged)
        return structure, [tree.map(fill, unit) if is_container(unit) else fill(unit) for unit in units]

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

    def _merge(self, leaves, columns):
        """The results over all lanes. columns: of each its different forms on the ranks."""
        common = [not self.varying and all(same for same, *_ in column) for column in columns]
        values = [
            self._counting(leaf, column) for leaf, column, whole in zip(leaves, columns, common, strict=True) if not whole
        ]
        if columns and len(columns[0]) == 1:
            gathered = iter(gather_agreed(values, self.blocks))
        else:
            gathered = (gather(value, self.blocks, "the same result") for value in values)
        return [
            Stacked(first(leaf.value, self.blocks), True) if whole else Stacked(next(gathered), False)
            for leaf, whole in zip(leaves, common, strict=True)
        ]

    def _counting(self, leaf, column):
        """Of one result the lanes here that count, in the dtype that it has on all ranks."""
        (value,) = with_one_dtype([leaf.value], {np.dtype(dtype) for *_, dtype, weak in column if not weak})
        if leaf.same:
            value = broadcast_to(value, shape=(self.local, *shape_of(value)))
        return self.own(value)
