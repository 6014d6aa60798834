"""Loops over few elements, written out: each element of a small array is then a variable, which lies in a register.

Where nests are made it is said which loops these are (`Block.rounds`); here they are written out, and arrays all of whose
elements are named by numbers become variables (scalar replacement). So loops over a few numbers run without memory.
"""

import math
from dataclasses import replace

from ..text.expressions import Access, Name, names_in, parts_of, with_parts
from ..text.indices import Index
from ..text.statements import Array, Assign, Block, If, Local, everything, rewritten, scope
from .loops import around

FEW = 8  # elements that go into a result
STATEMENTS = 160  # written out, at most


def folds(body, loops):
    """Whether the reduced ones among these loops are short enough to be written out."""
    many = math.prod(loop.length for loop in loops if loop.reduced)
    return many <= FEW and (len(body.statements) + 2) * many <= STATEMENTS


def folded(body, sums, targets, loops, simd, parallel):
    """The loops over the results, which vectors run over, in each the steps of a reduction one after the other."""
    kept, few = [loop for loop in loops if not loop.reduced], [loop for loop in loops if loop.reduced]
    core = [s for t, *_ in sums for s in t.begin()]
    core += around(few, [*body.statements, *[s for t, value, *_ in sums for s in t.step(value)]], unroll=True)
    core += [s for t, *_ in sums for s in t.close()]
    core += [Assign(y, t.variable) for (t, *_), y in zip(sums, targets, strict=True)]
    return around(kept, core, simd and all(t.simd for t, *_ in sums), parallel)


def rows_first(loops, inner):
    """Whether reductions are better taken one result after the other: the elements of one lie in long enough stretches."""
    return inner[-1].length >= FEW and any(not loop.reduced for loop in loops)


# ---------------------------------------------------------------------- the passes
def unrolled(statements):
    """The statements with the loops written out that say so, and small arrays as variables."""
    return in_variables([x for s in statements for x in written_out(s)])


def written_out(s):
    """The statements of one statement in which the loops that say so are written out."""
    if type(s) is not Block and type(s) is not If:
        return [s]
    body = [x for inner in s.body for x in written_out(inner)]
    if type(s) is If:
        return [If(s.condition, body)]
    if s.rounds is None:
        return [replace(s, body=body)]
    ((_, counter),) = s.declares
    rounds = [[rewritten(x, lambda x, k=k: at_round(x, counter, k)) for x in body] for k in range(s.rounds)]
    if any(type(x) is Local or type(x) is Array for x in body):
        return [scope(*one) for one in rounds]
    return [x for one in rounds for x in one]


def at_round(x, counter, k):
    """An expression where a loop's counter is a number."""

    def part_at(part):
        kind = type(part)
        if kind is Index:
            many = part.coefficient(counter)
            return part.without({counter}) + many * k if many else part
        if kind is Access:
            return Access(part.buffer, with_parts(part.place, part_at))
        return str(k) if kind is Name and part.name == counter else part

    return with_parts(x, part_at)


# ---------------------------------------------------------------------- arrays
def in_variables(statements):
    """The statements with variables in place of arrays whose elements are all named by numbers."""
    arrays = elements(statements)
    if not arrays:
        return statements

    def variable(part):
        if type(part) is not Access:
            return part
        if part.buffer.name in arrays:
            return Name(f"{part.buffer.name}_{number(part.place)}")
        return Access(part.buffer, with_parts(part.place, variable))

    return declared_so([rewritten(s, lambda x: with_parts(x, variable)) for s in statements], arrays)


def elements(statements):
    """name -> numbers of the elements that are used, of arrays in these statements that no element is used of by a place found
    out later, and no pointer."""
    found = {s.name: set() for s in everything(statements) if type(s) is Array and not s.aligned}
    lengths = {}

    def used(x):
        for part in parts_of(x):
            kind = type(part)
            if kind is Access:
                name, place = part.buffer.name, number(part.place)
                if name in found and place is not None and 0 <= place < lengths.get(name, 0):
                    found[name].add(place)
                    continue
                found.pop(name, None)
                used(part.place)
            elif kind is not str:
                for name in names_in(part):
                    found.pop(name, None)

    for s in everything(statements):
        if type(s) is Array:
            lengths[s.name] = min(s.length, lengths.get(s.name, s.length))
        for x in s.expressions:
            used(x)
    return found


def number(place):
    """A place in an array as a number, None if that is not known."""
    if type(place) is Index:
        return None if place.terms else place.const
    return int(place) if type(place) is int or type(place) is str and place.isdecimal() else None


def declared_so(statements, arrays):
    """The statements with variables declared in place of arrays. arrays: as of `elements`."""
    made = []
    for s in statements:
        if type(s) is Array and s.name in arrays:
            values = dict(enumerate(s.values))
            rest = "0" if values else None
            made += [Local(s.type, f"{s.name}_{k}", values.get(k, rest)) for k in sorted(arrays[s.name])]
            continue
        if type(s) is Block:
            s = replace(s, body=declared_so(s.body, arrays))
        elif type(s) is If:
            s = If(s.condition, declared_so(s.body, arrays))
        made.append(s)
    return made
