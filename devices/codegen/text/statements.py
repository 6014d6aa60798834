"""C statements as records: what they declare, read, change and call are fields, and blocks hold lists of them.

`Block` is everything with braces: a loop, a branch, a scope. Passes make new lists of statements from others; `printer.py`
makes their text.
"""

from dataclasses import dataclass, replace
from typing import Any

from .expressions import Access, Name, accesses_in, c, calls_in, names_in


@dataclass(slots=True)
class Local:
    """A variable with its first value; none where `value` is None. type: as C calls it."""

    type: str
    name: str
    value: object = None
    body = ()

    @property
    def expressions(self):
        return () if self.value is None else (self.value,)


@dataclass(slots=True)
class Array:
    """An array in this scope. values: of its first elements; aligned: to cache lines."""

    type: str
    name: str
    length: int
    values: tuple = ()
    aligned: bool = False
    body = ()

    @property
    def expressions(self):
        return self.values


@dataclass(slots=True)
class Shared:
    """A pointer into the memory that the threads of a block share. offset: bytes from its beginning, None for 0."""

    type: str
    name: str
    offset: int | None = None
    expressions, body = (), ()


@dataclass(slots=True)
class Assign:
    """target = value, for a variable (Name) or an element (Access)."""

    target: object
    value: object
    body = ()

    @property
    def expressions(self):
        return self.target, self.value


@dataclass(slots=True)
class Do:
    """An expression for its effect. changes: names of the variables that it sets."""

    value: object
    changes: tuple = ()
    body = ()

    @property
    def expressions(self):
        return (self.value,)


@dataclass(slots=True)
class If:
    """Statements done on a condition, without braces if that is one statement."""

    condition: object
    body: list

    @property
    def expressions(self):
        return (self.condition,)


@dataclass(slots=True)
class Block:
    """Statements in braces.

    head: what stands before them, such as `for (…)`, None for a scope; declares: pairs (type, name) of variables that the head
    makes. simd: run over vectors; shared: how threads share it, None if they do not; clause: what OpenMP is told more.
    rounds: of a loop that counts from 0 and is to be written out, None for another; fixed: Buffers that stay the same while a
    loop runs. See `loops/unrolling.py`.
    """

    head: object
    body: list
    declares: tuple = ()
    simd: bool = False
    shared: str | None = None
    clause: str = ""
    rounds: int | None = None
    fixed: tuple = ()

    @property
    def expressions(self):
        return () if self.head is None else (self.head,)


@dataclass(slots=True)
class Stop:
    """Leave the function, if it is one that can fail: a call within has."""

    expressions, body = (), ()


FAULT = Assign(Name("fault"), "1")
NO_MEMORY = Assign(Name("memory"), "1")


def scope(*statements):
    """Statements in braces of their own."""
    return Block(None, list(statements))


def count(name, first, last, body, **options):
    """A loop of a counter from `first` to before `last`."""
    head = c("for (int64_t {0} = {1}; {0} < {2}; {0}++)", Name(name), first, last)
    return Block(head, body, (("int64_t", name),), **options)


def switch(chosen, cases):
    """One of several lists of statements, by number; the last one for all other numbers."""
    last, break_ = len(cases) - 1, Do("break")
    labels = ["default:" if k == last else f"case {k}:" for k in range(len(cases))]
    return Block(c("switch ({})", chosen), [Block(label, [*case, break_]) for label, case in zip(labels, cases, strict=True)])


def rewritten(s, change):
    """A statement with other expressions in it, and so those within it. change: function(expression) -> the other."""
    kind = type(s)
    if kind is Local:
        return s if s.value is None else Local(s.type, s.name, change(s.value))
    if kind is Array:
        return replace(s, values=tuple(map(change, s.values))) if s.values else s
    if kind is Assign:
        return Assign(change(s.target), change(s.value))
    if kind is Do:
        return Do(change(s.value), s.changes)
    if kind is If:
        return If(change(s.condition), [rewritten(x, change) for x in s.body])
    if kind is Block:
        head = s.head if s.head is None else change(s.head)
        return with_body(s, [rewritten(x, change) for x in s.body], head)
    return s


def with_body(s, body, head: Any = ...):
    """A Block or If around other statements. head: another one of the Block."""
    if type(s) is If:
        return If(s.condition, body)
    return Block(s.head if head is ... else head, body, s.declares, s.simd, s.shared, s.clause, s.rounds, s.fixed)


def everything(statements):
    """The statements, and those within them."""
    found = []
    for s in statements:
        found.append(s)
        if s.body:
            found += everything(s.body)
    return found


def reads(statement):
    """Names of the variables and arrays that a statement mentions, but for those it declares, statements within it included."""
    whole = everything([statement]) if statement.body else (statement,)
    return [name for s in whole for x in s.expressions for name in names_in(x)]


def accesses(statement):
    """The elements of arrays that a statement reads or stores, in order, without statements within it."""
    return [a for x in statement.expressions for a in accesses_in(x)]


def stored(statement):
    """The name of the array that a statement stores into, None for another statement."""
    return statement.target.buffer.name if type(statement) is Assign and type(statement.target) is Access else None


def declared(statements):
    """Triples (type, name, whether it is an array or a pointer) of what is declared in statements, at any depth."""
    for s in everything(statements):
        if type(s) is Local:
            yield s.type.removesuffix(" *"), s.name, s.type.endswith("*")
        elif type(s) is Array or type(s) is Shared:
            yield s.type, s.name, True
        elif type(s) is Block:
            yield from [(kind, name, False) for kind, name in s.declares]


def changed(statements):
    """Names of the variables that statements set."""
    found = set()
    for s in everything(statements):
        if type(s) is Assign and type(s.target) is Name:
            found.add(s.target.name)
        elif type(s) is Do:
            found.update(s.changes)
    return found


def needs(statements):
    """Parts of the runtime (`toolchain/runtime.py`) that statements need."""
    threads = any(type(s) is Block and s.shared is not None for s in everything(statements))
    return {*(["threads"] if threads else []), *(["memory"] if "taken" in called(statements) else [])}


def called(statements):
    """Names of the functions that statements call."""
    return frozenset().union(*[calls_in(x) for s in everything(statements) for x in s.expressions])
