"""Which programs within operations are written out: those over few elements, whose arrays then become variables."""

import math

from ....dsl.ir.pass_selection import on
from ...lowering import record
from ..loops.nests import OPERATION, Nest, dry_run
from ..text.expressions import waits

LARGEST = 32  # elements of an array whose elements are variables
SUMMED = 4 * LARGEST  # elements that are put together, or multiplied in products
CALLS = 16  # elements from which on functions such as exp are rather computed for a vector at a time
LONGEST = 2000  # steps of a program that are written out: compilers take long for more


def mark(nests, graph):
    """Say of the nests of a program which loops are to be written out: all, or those that run once. Returns whether all are.

    Where some of the arrays have to lie in memory, for a function that takes them or a loop over many elements, what is stored
    element by element is slow to be read in vectors.
    """
    if not on("fusion"):
        return False
    loops = [n for n in nests if isinstance(n, Nest) or not record(n.equation).of_programs]
    few = all([_few(n, graph) for n in loops]) and sum([math.prod(n.shape) * n.work for n in loops]) <= LONGEST * OPERATION
    for n in loops:
        n.unroll = few or math.prod(n.shape) * _steps(n) == 1
    return few


def _steps(nest):
    """Steps of an iteration, 0 for what calls a function on whole arrays."""
    return getattr(nest, "steps", 0)


def _few(nest, graph):
    size = math.prod(nest.shape) * _steps(nest)
    if not _steps(nest) or size > (SUMMED if nest.reduced or nest.steps > 1 else LARGEST):
        return False
    if size <= CALLS or not isinstance(nest, Nest):
        return True
    body = nest.filled[0] if nest.filled else dry_run(nest, graph)
    return not any(map(_calls, body.statements))


def _calls(s):
    return any(map(waits, s.expressions))
