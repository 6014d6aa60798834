"""Reductions over few elements, written out for each of them: the loop over the results is the one that vectors run over."""

import math
from itertools import product

from ..text.statements import Assign, Local, scope
from .loops import around

FEW = 8  # elements that go into a result
STATEMENTS = 160  # written out, at most


def folds(body, loops):
    """Whether the reduced ones among these loops are short enough to be written out."""
    many = math.prod(loop.length for loop in loops if loop.reduced)
    return many <= FEW and (len(body.statements) + 2) * many <= STATEMENTS


def folded(body, sums, targets, loops, simd, parallel):
    """The loops over the results, in each the steps of a reduction one after the other."""
    kept, few = [loop for loop in loops if not loop.reduced], [loop for loop in loops if loop.reduced]
    core = [s for t, *_ in sums for s in t.begin()]
    for place in product(*[range(loop.length) for loop in few]):
        counters = [Local("const int64_t", loop.name, i) for loop, i in zip(few, place, strict=True)]
        core.append(scope(*counters, *body.statements, *[s for t, value, *_ in sums for s in t.step(value)]))
    core += [s for t, *_ in sums for s in t.close()]
    core += [Assign(y, t.variable) for (t, *_), y in zip(sums, targets, strict=True)]
    return around(kept, core, simd and all(t.simd for t, *_ in sums), parallel)


def rows_first(loops, inner):
    """Whether reductions are better taken one result after the other: the elements of one lie in long enough stretches."""
    return inner[-1].length >= FEW and any(not loop.reduced for loop in loops)
