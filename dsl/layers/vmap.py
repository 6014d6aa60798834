"""`vmap`: a function of one example becomes a function of many, Python control flow included.

Where lanes disagree on an answer that Python needs, the batch is split into the lanes that answered alike, the function
runs again on each part, and the results are merged in order. Collectives keep a log: a part that reaches one stops with
its contribution; when every part stands at the same one it runs once over all lanes and the parts go on from the log.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

from ...dispatch import (
    LaneSplitError,
    Layer,
    PerformanceWarning,
    current_depth,
)
from ..array_libraries import asarray_like
from ..axes import Axis
from .batching import LanesRun
from .mapped_inputs import MappedInputs, pick
from .mapped_outputs import Outputs, flatten_outputs, merge_parts
from .splitting import Need, Split, collective_text, fits, lane_numbers
from .unkeyed_draws import looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ...dispatch.annotations import P


MANY_PARTS = 64  # split parts above which a warning names the alternatives


def vmap(
    f: Callable[P, Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments; its meaning is `stack([f(x[k]) for k in range(n)])`.

    f: function of arrays or trees of arrays. in_axes: the axis to map for each argument, None for an argument that is the
    same in all lanes; an int for all, or a tree whose upper part is that of the arguments. out_axes: where the lanes stand
    in the results; None for a result that is the same in all lanes. axis_size: number of lanes, needed only if no argument
    is mapped. axis_name: name by which `psum` and its kin find the lanes. Keyword arguments are mapped over axis 0.
    Returns a function. `if`, `while` and recursion on values of the lanes work: the lanes are split by their answers.
    Raises ShapeError, StructureError, LaneSplitError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: x * x if x > 1 else -x)(np.array([0.5, 2.0, 3.0]))
    array([-0.5,  4. ,  9. ])
    """

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        name = title("vmap", f)
        inputs = MappedInputs(name, args, kwargs, in_axes, axis_size)
        axis = Axis(axis_name, inputs.size, current_depth() + 1)
        return map_lanes(name, f, inputs, axis).assemble(out_axes)

    return mapped


def title(transform, f):
    """A mapped function in messages, the same in every process: no addresses."""
    return f"{transform}({getattr(f, '__name__', type(f).__name__)})"


def _among(lanes, group):
    """The numbers of the lanes at some places among these; None: among all. Under jit they are an array that is not known."""
    if isinstance(group, Layer) or isinstance(lanes, Layer):
        return group if lanes is None else pick(lanes if isinstance(lanes, Layer) else asarray_like(lanes, group), group)
    return list(group) if lanes is None else [lanes[i] for i in group]


# ---------------------------------------------------------------------- running
def map_lanes(name, f, inputs, axis):
    """Run f over all lanes of `inputs`, splitting them where Python asks, and return the `Outputs`."""
    try:
        return _all_lanes(name, looked_at(name, f, axis), inputs, axis)
    except (Split, Need) as signal:  # of an enclosing map
        axis.leave(signal)
        raise


def _all_lanes(name, f, inputs, axis):
    log, parts = [], [None]
    while True:
        done, waiting = _run_parts(name, f, inputs, axis, log, parts)
        if not waiting:
            return Outputs(name, axis, done, inputs)
        _check_all_wait(name, axis, done, waiting)
        parts = [lanes for lanes, _ in waiting]
        need = waiting[0][1]
        need.log.append((need.signature, need.perform(merge_parts(name, parts, [n.value for _, n in waiting]))))


def _run_parts(name, f, inputs, axis, log, parts):
    """Run each part from the start; parts that disagree inside are split. Returns the finished and the waiting."""
    done, waiting, warned = [], [], False
    todo = list(parts)
    while todo:
        lanes = todo.pop(0)
        run = LanesRun(name, axis, lanes, log)
        try:
            with axis, run:
                args, kwargs = inputs.for_lanes(run)
                out = f(*args, **kwargs)
                done.append((lanes, *flatten_outputs(name, out, run)))
        except (Split, Need) as signal:
            if signal.run is not run:
                raise
            if isinstance(signal, Need):
                waiting.append((lanes, signal.with_traceback(None)))  # its frames hold all values of the pass
                continue
            if not axis.varying:
                axis.diverge(log)
            todo[:0] = [_among(lanes, group) for group in signal.groups]
            if len(todo) + len(done) > MANY_PARTS and not warned:
                warned = True
                warnings.warn(
                    f"{name}: the lanes take more than {MANY_PARTS} different paths, each run by itself; where, "
                    "while_loop or fewer lanes are faster",
                    PerformanceWarning,
                    stacklevel=4,
                )
    return done, waiting


def _check_all_wait(name, axis, done, waiting):
    """All parts stand at the same collective, or an error says which lanes do not."""
    first = waiting[0][1].signature
    if done:
        there = sorted(axis.offset + lane for lanes, _ in waiting for lane in lane_numbers(lanes))
        raise LaneSplitError(
            f"{name}: {collective_text(first)} over the axis {axis!r} is in a branch that only lanes {_some(there)} take; call "
            "it before the branch, or in every branch"
        )
    for _, need in waiting:
        if not fits(need.signature, first):
            raise LaneSplitError(
                f"{name}: lanes that took different paths meet different collectives: "
                f"{collective_text(first)} and {collective_text(need.signature)}"
            )


def _some(lanes):
    return str(lanes) if len(lanes) <= 8 else f"[{', '.join(map(str, lanes[:8]))}, … {len(lanes)} in all]"
