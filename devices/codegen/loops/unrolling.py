"""Loops over few elements, written out: where nests are made it is said which these are (`Block.rounds`)."""

import math

from ..text.expressions import Access, Name, with_parts
from ..text.indices import Index
from ..text.statements import Array, Assign, Block, If, Local, rewritten, scope, with_body
from .loops import around
from .scalar_replacement import in_variables, read_before

FEW = 8  # elements that go into a result
STATEMENTS = 160  # written out, at most


def folds(body, loops):
    """Return whether the reduced ones among these loops are short enough to be written out."""
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
    """Return whether reductions are better taken one result after the other: its elements lie in long enough stretches."""
    return inner[-1].length >= FEW and any(not loop.reduced for loop in loops)


# ---------------------------------------------------------------------- the pass
def unrolled(statements):
    """The statements with the loops written out that say so, and small arrays as variables."""
    return read_before(in_variables([x for s in statements for x in written_out(s)]))


def written_out(s):
    """The statements of one statement in which the loops that say so are written out."""
    if not isinstance(s, (Block, If)):
        return [s]
    body = [x for inner in s.body for x in written_out(inner)]
    if isinstance(s, If) or s.rounds is None:
        return [with_body(s, body)]
    ((_, counter),) = s.declares
    own = {x.name for x in body if type(x) is Local}
    if own and all(type(x) is Local or type(x) is Assign and type(x.target) is Access for x in body):
        return [scope(*[at_round(x, counter, k, own) for x in body for k in range(s.rounds)])]
    rounds = [[at_round(x, counter, k) for x in body] for k in range(s.rounds)]
    if own or any(type(x) is Array for x in body):
        return [scope(*one) for one in rounds]
    return [x for one in rounds for x in one]


def at_round(s, counter, k, own=()):
    """A statement where a loop's counter is a number. own: variables that each round has of its own, under another name.

    So the rounds of a loop go on side by side, each of its statements for all rounds, as vectors would: compilers find them.
    """
    named = lambda name: f"{name}_{k}" if name in own else name

    def part_at(part):
        kind = type(part)
        if kind is Index:
            const = part.const + part.coefficient(counter) * k
            return Index(const, [(named(name), many) for name, many in part.terms if name != counter])
        if kind is Access:
            return Access(part.buffer, with_parts(part.place, part_at))
        if kind is not Name:
            return part
        return str(k) if part.name == counter else Name(named(part.name))

    new = rewritten(s, lambda x: with_parts(x, part_at))
    return Local(new.type, named(new.name), new.value) if type(new) is Local else new
