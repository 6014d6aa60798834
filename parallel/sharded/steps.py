"""From one layout to another: which steps lead there, how many bytes each rank gets in them, and taking them."""

import functools
import math
from contextvars import ContextVar
from typing import Any, NamedTuple

from ...dsl.avals import dtype_of
from ..collectives import vary
from .chunks import one_each
from .moves import Cut, gathered, kept_once, own_chunk, resplit, scattered, summed

SENTENCES = {
    "split": "each rank takes its chunk of axis {axis} along {part}",
    "gather": "all chunks of axis {axis} along {part} to every rank",
    "resplit": "chunks of axis {axis} become chunks of axis {to} along {part}",
    "sum": "the sum over {part} to every rank",
    "scatter": "of the sum over {part} to each rank its chunk of axis {axis}",
    "keep": "the addends along {part} are the array and zeros",
}


told_moves: ContextVar[Any] = ContextVar("polyad_told_moves", default=None)  # a list of what is moved, while that is asked for


class Move(NamedTuple):
    """One change of a layout. kind: of SENTENCES. before, after: layouts. bytes: that each rank gets, on average."""

    kind: str
    before: Any
    after: Any
    part: tuple
    axis: int
    to: int
    bytes: float

    def __str__(self):
        part = "×".join(map(str, self.part))
        return f"{SENTENCES[self.kind].format(axis=self.axis, to=self.to, part=part)}: {shown_bytes(self.bytes)}"


def shown_bytes(count):
    """A number of bytes as text."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


@functools.lru_cache(4096)
def steps_between(layout, target, itemsize):
    """The Steps from one layout of an array to another, of the same shape and mesh."""
    found = []

    def step(kind, after, part, axis=0, to=0):
        before, count = found[-1].after if found else layout, layout.along(part).size
        got = {"gather": count, "resplit": 1, "scatter": 1, "sum": 2}.get(kind, 0) * (count - 1) / count
        found.append(Move(kind, before, after, part, axis, to, got * _elements(before) * itemsize))
        return after

    now = layout
    for name in layout.partial:
        if name in target.partial:
            continue
        rest = tuple([each for each in now.partial if each != name])
        axis = next((k for k, part in enumerate(target.parts) if part == (name,) and not now.parts[k]), None)
        if axis is not None:
            now = step("scatter", now.reduced(rest).cut(axis, (name,), target.chunks[axis]), (name,), axis)
        else:
            now = step("sum", now.reduced(rest), (name,))
    for axis, part in enumerate(now.parts):
        to = next((k for k, other in enumerate(target.parts) if other == part), None)
        there = (to, now.chunks[axis]) == (axis, target.chunks[axis])
        if part and to is not None and (to == axis or not now.parts[to]) and not there:
            now = step("resplit", now.cut(axis, ()).cut(to, part, target.chunks[to]), part, axis, to)
    for axis, (part, other) in enumerate(zip(now.parts, target.parts, strict=True)):
        if part and part != other:
            now = step("gather", now.cut(axis, ()), part, axis)
    for axis, part in enumerate(target.parts):
        if part and now.parts[axis] != part:
            now = step("split", now.cut(axis, part, target.chunks[axis]), part, axis)
    for name in target.partial:
        if name not in now.partial:
            now = step("keep", now.reduced((*now.partial, name)), (name,))
    return tuple(found)


def _elements(layout):
    """The number of elements that a rank has, on average."""
    count = math.prod(layout.shape)
    for part in layout.parts:
        count /= layout.along(part).size if part else 1
    return count


def cost(layout, target, itemsize):
    """The bytes that each rank gets on the way from one layout to another."""
    return sum([step.bytes for step in steps_between(layout, target, itemsize)])


def move(block, step, what):
    """The block of this rank after a step. what: it is for, in messages."""
    before, after = step.before, step.after
    if before.along(step.part).size == 1:
        return block
    if step.kind in ("sum", "scatter", "keep"):
        chunks = before.along_partial(step.part[0], what)
        if step.kind != "scatter":
            return (summed if step.kind == "sum" else kept_once)(block, chunks)
        return scattered(block, Cut(step.axis, after.along_axis(step.axis, what)))
    if step.kind == "split":
        return own_chunk(block, Cut(step.axis, after.along_axis(step.axis, what)))
    source = Cut(step.axis, before.along_axis(step.axis, what))
    if step.kind == "gather":
        return gathered(block, source)
    return resplit(block, source, Cut(step.to, after.along_axis(step.to, what)))


def moved(block, layout, target, what):
    """The block of this rank of the same array in another layout, for which the ranks send each other what is missing."""
    lines = told_moves.get()
    for step in steps_between(layout, target, dtype_of(block).itemsize if lines is not None else 1):
        if lines is not None:
            lines.append(step)
        block = move(block, step, what)
    return block


def varied(block, layout, parts, what):
    """A block that is the same along these parts of the mesh, on its way to where it meets what differs along them."""
    for part in parts:
        comm = layout.along(part)
        if comm.size > 1:
            block = vary(block, one_each(comm, what))
    return block
