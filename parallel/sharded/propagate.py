"""Which layouts the arguments of an operation get, and the one of its result: of all ways that are right the one that moves the
fewest bytes.

An operation is a `Pattern`: a letter for each axis of its arguments and result, as in einsum. Along a letter that is cut in the
same chunks everywhere each rank works on its blocks alone; where the result lacks the letter, what the ranks have is combined.
"""

import functools
import itertools
import math
from typing import Any, NamedTuple

from ...dispatch import StructureError
from ...dsl.avals import dtype_of, shape_of
from .array import Sharded, made, mesh_of, moved_to
from .chunks import balanced
from .layout import Layout
from .partition_spec import PartitionSpec
from .steps import cost, moved, shown_bytes, told_moves, varied


class Pattern(NamedTuple):
    """The way an operation treats axes.

    inputs: for each argument a letter (an integer) for each axis, None for one that is not cut. output: for each axis of the
    result its letter, or None. whole: letters that must not be cut. combine: "sum" where what the ranks have of letters that
    the result lacks are addends, "" where such letters must not be cut. linear: "each" where the operation is linear in each
    argument for itself, "together" in all of them, "" in none: so partial sums go through.
    """

    inputs: tuple
    output: tuple
    whole: frozenset = frozenset()
    combine: str = ""
    linear: str = ""


def batch_letters(own, shape):
    """The letters of axes that are broadcast to `shape`, whose letters are 0, 1, …: None where that repeats what is there."""
    first = len(shape) - len(own)
    return tuple([k + first if n == shape[k + first] else None for k, n in enumerate(own)])


class Plan(NamedTuple):
    """A way to do it: the layout for each argument, the parts of the mesh along which it differs from rank to rank though it is
    whole there, and of the result the cuts by letter and the partial sums. bytes: that each rank gets. others: what was
    dearer."""

    layouts: tuple
    varying: tuple
    cuts: dict
    partial: tuple
    bytes: float
    others: tuple
    results: dict  # layouts of results, by their letters and shapes


class Arranged(NamedTuple):
    """Arguments that lie alike. blocks: of this rank. pattern, plan, mesh: how. what: they are for, in messages."""

    blocks: list
    pattern: Pattern
    plan: Plan
    mesh: Any

    def result(self, block, letters, shape):
        """The Sharded array of which each rank has such a block. letters: of its axes. shape: of all of it; along an axis that
        is not cut the block's own may be left to it (None)."""
        shape = tuple([n if k is None else k for n, k in zip(shape_of(block), shape, strict=True)])
        layout = self.plan.results.get((letters, shape))
        if layout is None:
            cuts = self.plan.cuts
            parts = [cuts[letter][0] if letter in cuts else () for letter in letters]
            chunks = [cuts[letter][1] if letter in cuts else (n,) for letter, n in zip(letters, shape, strict=True)]
            layout = Layout(self.mesh, shape, PartitionSpec(*parts, partial=self.plan.partial), chunks)
            self.plan.results[letters, shape] = layout
        return made(block, layout)


def arranged(name, pattern, arguments, shape=()):
    """The arguments of an operation, Sharded ones among them, as they lie where it moves the fewest bytes. Plain arrays and
    numbers are the same on all ranks. shape: of the result."""
    mesh = mesh_of(arguments, name)
    given = tuple([x.layout if isinstance(x, Sharded) else whole_layout(mesh, tuple(shape_of(x))) for x in arguments])
    sizes = tuple([dtype_of(x).itemsize for x in arguments])
    plan = planned(pattern, given, sizes, tuple(shape), name)
    what = f"{name} of Sharded arrays"
    if told_moves.get() is not None:
        told_moves.get().append(_sentence(name, pattern, plan))
    blocks = []
    for x, before, after, parts in zip(arguments, given, plan.layouts, plan.varying, strict=True):
        block = moved_to(x, after, what).block if isinstance(x, Sharded) else moved(x, before, after, what)
        blocks.append(varied(block, before, parts, what))
    return Arranged(blocks, pattern, plan, mesh)


def run(name, pattern, arguments, function, shape):
    """The Sharded result of an operation. function: what gives its block for blocks of the arguments. shape: of it."""
    there = arranged(name, pattern, arguments, shape)
    return there.result(function(*there.blocks), pattern.output, shape)


@functools.lru_cache(1024)
def whole_layout(mesh, shape):
    """The layout of a plain array, which each rank has."""
    return Layout(mesh, shape)


@functools.lru_cache(4096)
def planned(pattern, layouts, sizes, shape, name):
    """The cheapest Plan for arguments in these layouts, of elements of these sizes in bytes."""
    cuts = {}  # part of the mesh -> letters that are cut by it
    for letters, layout in zip(pattern.inputs, layouts, strict=True):
        for letter, part in zip(letters, layout.parts, strict=True):
            if part:
                cuts.setdefault(part, set()).add(letter)
    kept = _partial_kept(pattern, layouts, cuts)
    free = {letter for letters in pattern.inputs for letter in letters if letter is not None} - pattern.whole
    if not pattern.combine:
        free &= set(pattern.output)
    free = {letter for letter in free if not _one_of_one(letter, pattern, layouts)}
    apart = [part for part in cuts if not set(part) & set(kept)]
    ways = []
    for letters in itertools.product(
        *[(*sorted(free, key=lambda letter: (letter not in cuts[part], letter)), None) for part in apart]
    ):
        chosen = [letter for letter in letters if letter is not None]
        if len(set(chosen)) == len(chosen) and not _overlapping(apart, letters):
            ways.append(_plan(pattern, layouts, sizes, shape, dict(zip(apart, letters, strict=True)), kept))
    if not ways:
        raise StructureError(f"{name}: there is no way to lay out {layouts}")
    best = min(ways, key=lambda plan: plan.bytes)
    return best._replace(others=tuple([(plan.bytes, plan.layouts) for plan in ways if plan is not best]))


def _overlapping(parts, letters):
    """Return whether an axis of the mesh would cut twice."""
    used = [name for part, letter in zip(parts, letters, strict=True) if letter is not None for name in part]
    return len(set(used)) < len(used)


def _one_of_one(letter, pattern, layouts):
    """Return whether an axis has length 1 and nobody has cut it: there is nothing to be shared out."""
    places = [(n, part) for letters, layout in zip(pattern.inputs, layouts, strict=True)
              for each, n, part in zip(letters, layout.shape, layout.parts, strict=True) if each == letter]  # fmt: skip
    return all([n <= 1 and not part for n, part in places])


def _partial_kept(pattern, layouts, cuts):
    """The axes of the mesh along which the result is a partial sum because the arguments are."""
    kept = []
    for name in dict.fromkeys([name for layout in layouts for name in layout.partial]):
        having = [name in layout.partial for layout in layouts]
        cut_by_it = any([name in part for part in cuts])
        if pattern.linear == "together" and all(having) or pattern.linear == "each" and sum(having) == 1 and not cut_by_it:
            kept.append(name)
    return tuple(kept)


def _plan(pattern, layouts, sizes, shape, letters, kept):
    """The Plan in which each part of the mesh cuts the letter that is given for it (None: it cuts nothing)."""
    chosen = {}
    for part, letter in letters.items():
        if letter is not None:
            chosen[letter] = part, _chunks_of(letter, part, pattern, layouts)
    targets, varying, total = [], [], 0.0
    used = [part for part, letter in letters.items() if letter is not None] + [(name,) for name in kept]
    for axes, layout, size in zip(pattern.inputs, layouts, sizes, strict=True):
        cut = [chosen.get(letter) if letter is not None else None for letter in axes]
        parts = [each[0] if each else () for each in cut]
        chunks = [each[1] if each else (n,) for each, n in zip(cut, layout.shape, strict=True)]
        partial = tuple([name for name in layout.partial if name in kept])
        target = Layout(layout.mesh, layout.shape, PartitionSpec(*parts, partial=partial), chunks)
        targets.append(target)
        varying.append(tuple([part for part in used if part not in parts and not set(part) & set(partial)]))
        total += cost(layout, target, size)
    lost = [part for letter, (part, _) in chosen.items() if letter not in pattern.output]
    partial = (*kept, *[name for part in lost for name in part])
    cuts = {letter: value for letter, value in chosen.items() if letter in pattern.output}
    if lost:  # what adding them up will cost
        elements = math.prod(shape) / math.prod([len(lengths) for _, lengths in cuts.values()])
        total += sum([2 * (1 - 1 / targets[0].along(part).size) * elements * max(sizes) for part in lost])
    return Plan(tuple(targets), tuple(varying), cuts, partial, total, (), {})


def _chunks_of(letter, part, pattern, layouts):
    """The chunks in which a letter is cut: those of the largest argument that is cut so, else equal ones."""
    found, most, length, count = None, -1, 0, 1
    for axes, layout in zip(pattern.inputs, layouts, strict=True):
        for k, each in enumerate(axes):
            if each != letter:
                continue
            length, count = layout.shape[k], layout.along(part).size
            if layout.parts[k] == part and math.prod(layout.shape) > most:
                found, most = layout.chunks[k], math.prod(layout.shape)
    return found or balanced(length, count)


def _sentence(name, pattern, plan):
    """Return a plan as a line: the layouts of the arguments and of the result, and what the next best would have cost."""
    parts = [plan.cuts[letter][0] if letter in plan.cuts else () for letter in pattern.output]
    result = PartitionSpec(*parts, partial=plan.partial)
    line = f"{name}: {' × '.join([str(layout.spec) for layout in plan.layouts])} -> {result}"
    dearer = [cost for cost, _ in plan.others if cost > plan.bytes]
    return line + (f" (at {shown_bytes(plan.bytes)}; next best {shown_bytes(min(dearer))})" if dearer else "")
