"""Short loops with many function calls: they run over whole vectors, the last one filled up.

The elements left over by whole vectors would each cost as much as a vector, for functions have no masked versions.
"""

import re

from ..text.scalars import memory_type
from ..text.system import VECTOR
from .loops import PLACE, Loop, around
from .nests import Store

LANES = 8  # elements of a whole vector
LONGEST = 256
CALLS = 4  # function calls in an iteration from which on copies are worth their time
CALLED = re.compile(rf"\b(?:{'|'.join(VECTOR)})(?:f|_f[48])?\(")
STORED = re.compile(r"\w+\[⟨\d+⟩\] = ")


def worth_padding(nest, body, loop):
    """Whether a loop over all of a nest is to be filled up."""
    if nest.sequential or body.may_fault or body.pinned or loop.length % LANES == 0 or not 2 < loop.length < LONGEST:
        return False
    plain = all(isinstance(r, Store) and r.place is None and not r.add for r in nest.roots)
    simple = all(p.coefficient(loop.name) in (0, 1) for p in body.places)
    return plain and simple and sum(bool(CALLED.search(line)) for line in body.lines) >= CALLS


def padded(body, loop, simd):
    """Lines that copy what the loop reads, repeating the last element, run over the copies, and copy the results.

    simd: function (loops, statements, places, parallel) -> C lines of loops over vectors.
    """
    name, n, whole = loop.name, loop.length, -(-loop.length // LANES) * LANES
    before, inside, after = [], [], []
    for line in body.lines:
        stored = STORED.match(line)
        for k in [int(m) for m in PLACE.findall(line)]:
            buffer, place, local = body.accessed[k], body.places[k], f"p{k}"
            if not place.coefficient(name):
                continue
            there = f"{buffer.name}[⟨{k}⟩]"
            before.append(f"{memory_type(buffer.dtype)} {local}[{whole}];")
            if stored:
                after += around([Loop(name, n, False)], [f"{there} = {local}[{name}];"], "", False)
            else:
                source = f"{buffer.name}[{place.without({name})} + ({name} < {n - 1} ? {name} : {n - 1})]"
                before += around([Loop(name, whole, False)], [f"{local}[{name}] = {source};"], "", False)
            line = line.replace(there, f"{local}[{name}]")
        inside.append(line)
    return ["{", *before, *simd([Loop(name, whole, False)], inside, body.places, False), *after, "}"]
