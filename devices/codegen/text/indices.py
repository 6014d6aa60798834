"""Positions in arrays: whole numbers that are affine in the counters of loops."""

import itertools

from .expressions import Piece


class Index(Piece):
    """const + sum of coefficient × name; names are C variables (loop counters, or positions read from index arrays)."""

    __slots__ = ("const", "terms")

    def __init__(self, const=0, terms=()):
        found = [term for term in terms if term[1]]
        self.const, self.terms = const, tuple(sorted(found) if len(found) > 1 else found)

    def __add__(self, other):
        if not isinstance(other, Index):
            return Index(self.const + other, self.terms)
        sums = dict(self.terms)
        for name, c in other.terms:
            sums[name] = sums.get(name, 0) + c
        return Index(self.const + other.const, sums.items())

    def __mul__(self, factor):
        return Index(self.const * factor, [(n, c * factor) for n, c in self.terms])

    def __neg__(self):
        return self * -1

    def __eq__(self, other):
        return isinstance(other, Index) and self.const == other.const and self.terms == other.terms

    def __hash__(self):
        return hash((self.const, self.terms))

    def coefficient(self, name):
        """The factor of one name."""
        return dict(self.terms).get(name, 0)

    def without(self, names):
        """This index where these names are 0."""
        return Index(self.const, [(n, c) for n, c in self.terms if n not in names])

    @property
    def names(self):
        """The C variables in it."""
        return [n for n, _ in self.terms]

    def text(self, name):
        """C of it. name: function of a variable's name that gives its text."""
        parts = [name(n) if c == 1 else f"{c} * {name(n)}" for n, c in self.terms]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")

    def __repr__(self):
        return f"Index({self.text(str)})"


ZERO = Index()


def aligned(idx, shape):
    """Return where an array of this shape is read by an element at `idx` of the array it is broadcast to."""
    own = idx[len(idx) - len(shape) :]
    if 1 not in shape:
        return own
    return tuple(ZERO if n == 1 else i for i, n in zip(own, shape, strict=True))


class Buffer:
    """Memory that holds an array: a C array of this name, its strides in elements."""

    __slots__ = ("dtype", "name", "shape", "strides")

    def __init__(self, name, dtype, shape, strides=None):
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)
        self.strides = contiguous(shape) if strides is None else strides

    def at(self, idx):
        """The place in memory of an element."""
        const, terms = 0, {}
        for i, step in zip(idx, self.strides, strict=True):
            const += i.const * step
            for name, c in i.terms:
                terms[name] = terms.get(name, 0) + c * step
        return Index(const, terms.items())


def contiguous(shape):
    """Strides, in elements, of an array in row-major order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def points(shape):
    """The indices of all elements, in order."""
    return [tuple(Index(i) for i in p) for p in itertools.product(*map(range, shape))]
