"""Scalar replacement: elements of arrays that are named by numbers become variables, which lie in registers.

So loops around programs over a few numbers run without memory, though all values have memory at first.
"""

import math
from typing import Any

from ....dsl.avals import UNKNOWN
from ..text.expressions import Access, Name, names_in, pieces_of, with_parts
from ..text.indices import Index
from ..text.scalars import ctype
from ..text.statements import Array, Block, If, Local, everything, rewritten, scope, with_body


def number(place):
    """A place in an array as a number, None if that is not known."""
    if type(place) is Index:
        return None if place.terms else place.const
    return int(place) if type(place) is int or type(place) is str and place.isdecimal() else None


def with_elements(x, variable):
    """An expression with variables in place of elements. variable: function(Access, its number) -> its name, None for none."""

    def changed(part):
        if type(part) is not Access:
            return part
        place = number(part.place)
        name = None if place is None else variable(part, place)
        return Access(part.buffer, with_parts(part.place, changed)) if name is None else Name(name)

    return with_parts(x, changed)


# ---------------------------------------------------------------------- arrays of this function
def in_variables(statements):
    """The statements with variables in place of arrays whose elements are all named by numbers."""
    arrays = elements(statements)
    if not arrays:
        return statements
    variable = lambda access, place: f"{access.buffer.name}_{place}" if access.buffer.name in arrays else None
    return _declared([rewritten(s, lambda x: with_elements(x, variable)) for s in statements], arrays)


def elements(statements):
    """name -> {number of an element: the Buffer it is named in}, of arrays in these statements that nothing else is read of: no
    place that is found out later, no pointer."""
    found = {s.name: {} for s in everything(statements) if type(s) is Array and not s.aligned}
    lengths = {}
    if not found:
        return found

    def used(x):
        for part in pieces_of(x):
            if type(part) is Name:
                found.pop(part.name, None)
            elif type(part) is Access:
                name, place = part.buffer.name, number(part.place)
                if name in found and place is not None and 0 <= place < lengths.get(name, 0):
                    found[name][place] = part.buffer
                else:
                    found.pop(name, None)
                    used(part.place)
            else:
                for name in names_in(part):
                    found.pop(name, None)

    for s in everything(statements):
        if type(s) is Array:
            lengths[s.name] = min(s.length, lengths.get(s.name, s.length))
        for x in s.expressions:
            used(x)
    return found


def _declared(statements, arrays):
    """The statements with variables declared in place of arrays. arrays: as of `elements`."""
    made = []
    for s in statements:
        if type(s) is Array and s.name in arrays:
            values, rest = dict(enumerate(s.values)), "0" if s.values else None
            for k, buffer in sorted(arrays[s.name].items(), key=lambda item: item[0]):
                kind = s.type if buffer.dtype is None else ctype(buffer.dtype)  # truth values are bytes in memory only
                made.append(Local(kind, f"{s.name}_{k}", values.get(k, rest)))
        else:
            made.append(with_body(s, _declared(s.body, arrays)) if type(s) is Block or type(s) is If else s)
    return made


# ---------------------------------------------------------------------- arrays that stay the same
def read_before(statements):
    """The statements with loops that read what stays the same (`Block.fixed`) before they begin, elements named by numbers:
    compilers do not know that what a loop writes is other memory."""
    made = []
    for s in statements:
        if isinstance(s, Block):
            before, block = _read_before(s) if s.fixed else ([], s)
            block = with_body(block, read_before(block.body))
            s = scope(*before, block) if before else block
        elif isinstance(s, If):
            s = with_body(s, read_before(s.body))
        made.append(s)
    return made


def _read_before(loop) -> tuple[list[Any], Any]:
    """(variables with the elements, the loop that reads these)."""
    sizes, found = {b.name: 0 if UNKNOWN in b.shape else math.prod(b.shape) for b in loop.fixed}, {}

    def variable(access, place):
        buffer = access.buffer
        if not 0 <= place < sizes.get(buffer.name, 0):
            return None
        name = f"{buffer.name}_{place}"
        found[name] = Local(ctype(buffer.dtype), name, access)
        return name

    loop = rewritten(loop, lambda x: with_elements(x, variable))
    return list(found.values()), loop
