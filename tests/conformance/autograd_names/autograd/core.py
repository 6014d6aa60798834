"""The two maps that all of autograd's operators are made of, and its vector spaces, which are our trees of arrays."""

import numpy as np

import polyad as pa
from polyad import tree

from .extend import defvjp, primitive, primitive_vjps
from .tracer import getval

is_inexact = lambda x: np.result_type(getval(x)).kind in "fc"


def make_vjp(fun, x):
    """(pullback of one cotangent, value) of a function of one tree."""
    value, pull = pa.vjp(fun, x)
    fit = lambda y, g: g if is_inexact(y) else pa.NoTangent
    known = lambda g, x: np.zeros(np.shape(x)) if g is pa.NoTangent else g
    return lambda ct: tree.map(known, pull(tree.map(fit, value, ct))[0], x), value


def make_jvp(fun, x):
    """tangent -> (value, tangent of the value) of a function of one tree."""

    def push(dx):
        y, dy = pa.jvp(fun, (x,), (dx,))
        return y, tree.map(lambda dy, y: np.zeros(np.shape(y)) if dy is pa.NoTangent else dy, dy, y)

    return push


class VSpace:
    """The vector space of a tree of arrays, over the real numbers."""

    def __init__(self, value):
        self.leaves, self.structure = tree.flatten(tree.map(lambda x: np.asarray(getval(x)), value))

    def __eq__(self, other):
        kind = lambda vs: (vs.structure, [(x.shape, x.dtype) for x in vs.leaves])
        return kind(self) == kind(other)

    def make(self, function):
        """The tree of function(leaf)."""
        return tree.unflatten(self.structure, [function(x) for x in self.leaves])

    @property
    def iscomplex(self):
        return any(x.dtype.kind == "c" for x in self.leaves)

    @property
    def size(self):
        return sum(x.size * (2 if x.dtype.kind == "c" else 1) for x in self.leaves)

    def zeros(self):
        return self.make(np.zeros_like)

    def ones(self):
        return self.make(lambda x: np.ones_like(x) * (1 + 1j if x.dtype.kind == "c" else 1))

    def randn(self):
        draw = lambda x: np.random.standard_normal(x.shape)
        return self.make(lambda x: (draw(x) + 1j * draw(x) if x.dtype.kind == "c" else draw(x)).astype(x.dtype))

    def standard_basis(self):
        for k, leaf in enumerate(self.leaves):
            for place in np.ndindex(leaf.shape):
                for unit in (1, 1j) if leaf.dtype.kind == "c" else (1,):
                    parts = [np.zeros_like(x) for x in self.leaves]
                    parts[k][place] = unit
                    yield tree.unflatten(self.structure, parts)

    def add(self, x, y):
        return tree.map(lambda x, y: x + y, x, y)

    def scalar_mul(self, x, a):
        return tree.map(lambda x: x * a, x)

    def covector(self, x):
        return tree.map(np.conj, x)

    def inner_prod(self, x, y):
        pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
        return sum(np.real(np.sum(np.conj(x) * y)) for x, y in pairs)


def vspace(value):
    """The vector space that a value lies in."""
    return VSpace(value)
