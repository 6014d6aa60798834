"""Short loops with many function calls: they run over whole vectors, the last one filled up.

The elements left over by whole vectors would each cost as much as a vector, for functions have no masked versions.
"""

from ..text.expressions import Access, Name, c, waits, with_parts
from ..text.indices import Buffer, Index
from ..text.scalars import memory_type
from ..text.statements import Array, Assign, Local, scope, stored
from .loops import Loop
from .nests import Store

LANES = 8  # elements of a whole vector
LONGEST = 256
CALLS = 4  # function calls in an iteration from which on copies are worth their time


def worth_padding(nest, body, loop):
    """Return whether a loop over all of a nest is to be filled up."""
    if nest.sequential or body.may_fault or loop.length % LANES == 0 or not 2 < loop.length < LONGEST:
        return False
    plain = all(isinstance(r, Store) and r.place is None and not r.add for r in nest.roots)
    simple = all(a.place.coefficient(loop.name) in (0, 1) for a in body.accesses)
    return plain and simple and sum(waits(s.value) for s in body.statements) >= CALLS


def padded(body, loop, simd):
    """Statements that copy what the loop reads, repeating the last element, run over the copies, and copy the results.

    simd: function (loops, statements, parallel) -> statements of loops over vectors.
    """
    name, n, whole = loop.name, loop.length, -(-loop.length // LANES) * LANES
    counter, before, inside, after = Name(name), [], [], []

    def copied(access, store):
        """The element of a copy in place of an element that this loop passes by."""
        place = access.place if type(access) is Access else None
        if place is None or not place.coefficient(name):
            return access
        copy = Buffer(f"p{sum(type(s) is Array for s in before)}", access.buffer.dtype, (whole,))
        here = Access(copy, Index(0, [(name, 1)]))
        before.append(Array(memory_type(copy.dtype), copy.name, whole))
        if store:
            after.append(Loop(name, n, False).around([Assign(access, here)]))
        else:
            last = c("{0} + ({1} < {2} ? {1} : {2})", place.without({name}), counter, n - 1)
            before.append(Loop(name, whole, False).around([Assign(here, Access(access.buffer, last))]))
        return here

    for s in body.statements:
        value = with_parts(s.value, lambda part: copied(part, False))
        inside.append(Assign(copied(s.target, True), value) if stored(s) else Local(s.type, s.name, value))
    return [scope(*before, *simd([Loop(name, whole, False)], inside, False), *after)]
