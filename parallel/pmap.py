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

import functools
from typing import TYPE_CHECKING, Any

from ..dispatch import current_depth
from ..dsl.layers.mapped_inputs import MappedInputs
from ..dsl.layers.vmap import map_lanes, title
from .agreement import Restart
from .mesh import mesh_and_axis, ranks_for
from .rank_axis import RankAxis, WholeAxis
from .sharded.lanes import OwnLanes, any_sharded, lanes_here

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ..dispatch.annotations import P


def pmap(
    f: Callable[P, Any],
    axis_name: Hashable = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    out: str | None = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, on all ranks together: `stack([f(x[k]) for k in range(n)])`.

    f: function of arrays or trees of arrays. axis_name: name by which `psum` and its kin find the lanes of all ranks.
    in_axes, out_axes, axis_size: as for `vmap`; the axis may have any length, and every rank gives the same full
    arguments; or Sharded ones, of which each rank runs the lanes that it has. out: "sharded" for results that stay where the
    lanes ran, as Sharded arrays cut along the lanes; so they do where a mapped argument is Sharded, unless out is "whole".
    Returns a function; its results are the same on every rank, and the same as those of `vmap` (sums may
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
    if out not in (None, "sharded", "whole"):
        raise ValueError(f'pmap: out is "sharded", "whole" or None, not {out!r}')

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        inputs = MappedInputs(title("pmap", f), args, kwargs, in_axes, axis_size)
        return map_over(*ranks_for(axis_name), f, inputs, axis_name, out_axes, out=out)

    return mapped


def map_over(comm, takes, f, inputs, axis_name, out_axes, told="out_axes", out=None):
    """Run f over all lanes of the inputs, spread over the ranks of a communicator (None: each runs all). takes: see
    `RankAxis`. told: what the user calls out_axes. out: see `pmap`."""
    name, depth = inputs.name, current_depth() + 1
    place: Any = None
    if takes is not None:
        found = any_sharded(inputs.units)
        place = mesh_and_axis(takes) if found or out == "sharded" else None
        if found:
            inputs.units = lanes_here(inputs.units, inputs.mapped, place, inputs.size, name)
            place = None if out == "whole" else place
    if comm is None or comm.size == 1:
        axis = WholeAxis(axis_name, inputs.size, depth)
        axis.takes, axis.kept_on = takes, place
        inputs.units = [x.value if type(x) is OwnLanes else x for x in inputs.units]
        return map_lanes(name, f, inputs, axis).assemble(out_axes, told)
    axis = RankAxis(comm, name, axis_name, inputs.size, depth, takes)
    axis.kept_on = place
    with comm.map_under_way(name), axis.in_step():
        varying_f = axis.enter(f, inputs, out_axes)
        try:
            return map_lanes(name, varying_f, inputs, axis).assemble(out_axes, told)
        except Restart as signal:
            if signal.depth != depth:
                raise
            axis.restart()
        return map_lanes(name, varying_f, inputs, axis).assemble(out_axes, told)
