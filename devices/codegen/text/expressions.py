"""C expressions before they are text: pieces of C, among them the names and the memory that they read as objects.

What a pass asks of an expression, what it reads and what it calls, is a field; nobody parses C. A printer (`printer.py`) makes
the text, once. To put one of these objects into a string by accident is an error.
"""

import functools
from string import Formatter

import numpy as np

from ....dispatch import describe, isa
from .system import VECTOR

# functions with vector versions, as C calls them: for double and float, libm's and our own
WITH_VECTORS = frozenset(name + suffix for name in VECTOR for suffix in ("", "f", "_f8", "_f4"))


class Piece:
    """Base class of what an expression consists of, beside strings of C."""

    __slots__ = ()

    def __str__(self):
        raise TypeError(f"{self!r} becomes text by a printer")


class Name(Piece):
    """A variable, or the first element of an array, as a pointer."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return type(other) is Name and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"Name({self.name!r})"


class Type(Piece):
    """A type, as C calls it."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Type({self.name!r})"


class Access(Piece):
    """An element of a Buffer. place: an Index or other expression. Whoever merges loops may change the place."""

    __slots__ = ("buffer", "place")

    def __init__(self, buffer, place):
        self.buffer, self.place = buffer, place

    def __repr__(self):
        return f"Access({self.buffer.name}[{self.place!r}])"


class Hole(Piece):
    """Place of an argument that is yet to come, by its number or name."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number


class Expression(Piece):
    """parts: strings of C, Pieces, and Indexes. calls: names of the functions it calls, and types that it converts to."""

    __slots__ = ("_pieces", "calls", "parts")

    def __init__(self, parts, calls=frozenset()):
        self.parts, self.calls, self._pieces = parts, calls, None

    @property
    def pieces(self):
        """The parts that are no strings."""
        if self._pieces is None:
            self._pieces = [part for part in self.parts if type(part) is not str]
        return self._pieces

    def __repr__(self):
        return f"Expression({self.parts!r})"

    def filled(self, arguments):
        """With an argument in place of each Hole."""
        return _flattened([arguments[part.number] if type(part) is Hole else part for part in self.parts], self.calls)


AS_THEY_ARE = frozenset((str, Name, Access, Hole, Type))  # what is a part as it is


def _flattened(parts, calls):
    """The expression of these parts, those of expressions among them in their place."""
    if AS_THEY_ARE.issuperset(map(type, parts)):
        return Expression(parts, calls)
    flat = []
    for x in parts:
        if type(x) is Expression:
            flat += x.parts
            calls = calls | x.calls if x.calls else calls
        else:
            flat.append(x if isinstance(x, (str, Piece)) else _c_text(x))
    return Expression(flat, calls)


def _c_text(x):
    if type(x) is not int and not isa(x, (int, float, np.number, np.bool_)):
        raise TypeError(
            f"an expression of C is made of {describe(x)}; give Pieces (such as body.value(x, idx)), numbers or text"
        )
    return str(x)


@functools.lru_cache(4096)
def _pieces(template):
    """The template in strings, and Holes for the arguments between them, by number or name."""
    found, count = [], 0
    for text, field, _, _ in Formatter().parse(template):
        found += [text] if text else []
        if field is not None:
            found.append(Hole(int(field) if field.isdigit() else field or count))
            count += 1
    return found


def c(template, *arguments, calls=frozenset(), **named):
    """The expression of a template, such as `c("{} + {}", a, b)`, whose names are its arguments: Pieces, numbers, strings."""
    given = {**named, **dict(enumerate(arguments))} if named else arguments
    return _flattened([given[part.number] if type(part) is Hole else part for part in _pieces(template)], calls)


def call(function, *arguments):
    """A function's call."""
    return c(f"{function}({', '.join(['{}'] * len(arguments))})", *arguments, calls=frozenset((function,)))


def joined(separator, expressions):
    """Expressions one after the other."""
    return c(separator.join(["{}"] * len(expressions)), *expressions)


def pieces_of(x):
    """The parts of an expression that are no strings; of another thing, itself."""
    return x.pieces if type(x) is Expression else (x,)


def with_parts(x, change):
    """An expression with other parts. change: function(Piece) -> what is in its place."""
    if type(x) is Expression:
        return _flattened([part if type(part) is str else change(part) for part in x.parts], x.calls)
    return change(x) if isinstance(x, Piece) else x


def accesses_in(x):
    """The elements of arrays that an expression names."""
    return [part for part in pieces_of(x) if type(part) is Access]


def names_in(x):
    """The variables and arrays that an expression names, those in places among them."""
    found = []
    for part in pieces_of(x):
        kind = type(part)
        if kind is Name:
            found.append(part.name)
        elif kind is Access:
            found.append(part.buffer.name)
            found += names_in(part.place)
        elif kind is not str:
            found += getattr(part, "names", ())
    return found


def calls_in(x):
    """The functions that an expression calls."""
    return x.calls if type(x) is Expression else frozenset()


def waits(x):
    """Return whether an expression calls a function that has a vector version: some sixty cycles until the result is there."""
    return not WITH_VECTORS.isdisjoint(calls_in(x))
