"""Loops that a program repeats, such as the rounds of an unrolled chain: written once, as a function, and called.

A compiler takes as long for the tenth copy of a loop as for the first. Loops are the same if they differ in the names of what
they read and write only; those with calls of vector functions are worth it, beside which a call more is nothing.
"""

from typing import Any

from ..text.expressions import WITH_VECTORS, Name, call
from ..text.printer import Printer
from ..text.statements import Block, Do, If, called, changed, declared, everything, reads, with_body


def without_repeats(before, statements):
    """(C of functions, statements) of a body in which repeated loops are calls. before: statements that declare what the body
    names beside its own."""
    loops = [s for s in everything(statements) if alone(s)]
    if len(loops) < 2:
        return [], statements
    types, found = types_of([*before, *statements]), {}
    for loop in loops:
        form = Form(loop, types)
        if form.names is not None:
            found.setdefault((form.code, *[types[name] for name in form.names]), []).append((loop, form.names))
    functions, calls = [], {}
    for number, ((text, *given), places) in enumerate((form, places) for form, places in found.items() if len(places) > 1):
        parameters = ", ".join(f"{t} {'*' * star}a{n}" for n, (t, star) in enumerate(given))
        functions += [f"__attribute__((noinline)) static void loop{number}({parameters}) {{", text, "}"]
        calls.update({id(loop): Do(call(f"loop{number}", *map(Name, names))) for loop, names in places})
    return functions, replaced(statements, calls)


def alone(s):
    """Return whether a statement is a loop over vectors, by itself, that calls functions which have vector versions."""
    plain = type(s) is Block and s.simd and s.shared is None and not s.clause
    return plain and not WITH_VECTORS.isdisjoint(called([s]))


def types_of(statements):
    """name -> (type, whether it is an array), of names that have one type wherever they are declared."""
    found = {}
    for kind, name, array in declared(statements):
        found.setdefault(name, set()).add((kind, array))
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


class Form(Printer):
    """A loop with what it reads and writes named by number: its `code`, and `names` in this order; None if it cannot be a
    function, for it changes numbers from outside, or names something unknown."""

    def __init__(self, loop, types):
        super().__init__()
        own = dict.fromkeys(name for _, name, _ in declared([loop]))
        self.numbers = {name: f"l{k}" for k, name in enumerate(own)}
        self.names: Any = []
        known = changed([loop]) <= own.keys() and all(name in own or name in types for name in reads(loop))
        self.code = self.text([loop]) if known else None
        self.names = self.names if known else None

    def name(self, name):
        if name not in self.numbers:
            self.numbers[name] = f"a{len(self.names)}"
            self.names.append(name)
        return self.numbers[name]


def replaced(statements, calls):
    """The statements with others in place of some. calls: id of a statement -> the other."""
    new = []
    for s in statements:
        if id(s) in calls:
            s = calls[id(s)]
        elif type(s) is Block or type(s) is If:
            s = with_body(s, replaced(s.body, calls))
        new.append(s)
    return new
