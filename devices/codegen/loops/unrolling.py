"""Reductions over few elements, written out for each of them: the loop over the results is the one that vectors run over."""

import math
from itertools import product

from .loops import around

FEW = 8  # elements that go into a result
LINES = 160  # of the written-out text, at most


def folds(body, loops):
    """Whether the reduced ones among these loops are short enough to be written out."""
    count = math.prod(loop.length for loop in loops if loop.reduced)
    return count <= FEW and (len(body.lines) + 2) * count <= LINES


def folded(body, sums, targets, loops, simd, parallel):
    """C lines of the loops over the results, in each the steps of a reduction one after the other."""
    kept, few = [loop for loop in loops if not loop.reduced], [loop for loop in loops if loop.reduced]
    core = [line for t, *_ in sums for line in t.begin()]
    for place in product(*[range(loop.length) for loop in few]):
        counters = [f"const int64_t {loop.name} = {i};" for loop, i in zip(few, place, strict=True)]
        core += ["{", *counters, *body.lines, *[line for t, text, *_ in sums for line in t.step(text)], "}"]
    core += [line for t, *_ in sums for line in t.close()]
    core += [f"{y} = {t.name};" for (t, *_), y in zip(sums, targets, strict=True)]
    return around(kept, core, "simd" if simd and all(t.simd for t, *_ in sums) else "", parallel)


def rows_first(loops, inner):
    """Whether reductions are better taken one result after the other: the elements of one lie in long enough stretches."""
    return inner[-1].length >= FEW and any(not loop.reduced for loop in loops)
