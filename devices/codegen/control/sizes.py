"""Which loops within programs are written out: those over few elements, whose arrays then become variables."""

import math

from ....dsl.avals import UNKNOWN
from ....dsl.ir.pass_selection import on
from ..loops.nests import OPERATION, Nest, dry_run
from ..text.expressions import waits

LARGEST = 32  # elements of an array whose elements are variables
SUMMED = 4 * LARGEST  # elements that are put together, or multiplied in products
CALLS = 16  # elements from which on functions such as exp are rather computed for a vector at a time
LONGEST = 2000  # steps of a program that are written out: compilers take long for more


def small(aval):
    """Whether an array's elements may be variables."""
    return on("fusion") and UNKNOWN not in aval.shape and aval.size <= LARGEST


def mark(nests, graph):
    """Say of the nests of a program which loops are to be written out."""
    if not on("fusion"):
        return
    few = [n for n in nests if _few(n, graph)]
    if sum([math.prod(n.shape) * n.work for n in few]) <= LONGEST * OPERATION:
        for n in few:
            n.unroll = True


def _few(nest, graph):
    steps = getattr(nest, "steps", 0)  # blocks without have no loops of their own
    size = math.prod(nest.shape) * steps
    if not steps or size > (SUMMED if nest.reduced or steps > 1 else LARGEST):
        return False
    return size <= CALLS or not isinstance(nest, Nest) or not any(map(_calls, dry_run(nest, graph).statements))


def _calls(s):
    return any(map(waits, s.expressions))
