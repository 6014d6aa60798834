"""The sparsity layer: values that know, for each element, on which inputs it depends; patterns of Jacobians and Hessians.

A pattern is found in one run of the function, as a transformation among others, after Walther and Griewank's
"index domains" (Griewank and Walther, Evaluating Derivatives, SIAM 2008, chapter 7). Global patterns hold for all inputs that
take the same path through Python's `if` and `while`; local ones hold at the given input and may have fewer entries.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Layer, Run, StructureError, check_runs, settled, several, snapshot, step_into, tree
from ...dsl.avals import dtype_of, shape_of
from ...dsl.layers.splitting import concrete
from ..derived import slope
from ..inputs import as_inputs, chosen, inexact, is_function, title
from ..rules.from_cards import constant, differentiable, unshared
from . import patterns
from .dependence import TrackedCall, dependence_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...dispatch.annotations import P


class Pattern(Layer):
    """A value and the inputs on which each of its elements depends; `Pattern[d]` belongs to a run of depth d.

    sets: boolean CSR array (elements × inputs), or None if all derivatives are zero: a value that changes in steps.
    """

    __slots__ = ("run", "sets", "value")
    holds = "value"
    only_arrays = True

    def __init__(self, value, sets, run):
        self.value, self.sets, self.run = value, sets, run

    def concrete(self):
        return concrete(self.value)

    @classmethod
    def target(cls, generic, types):
        spread = generic.spread
        mine = [t is cls for t in types]
        whose = mine.index(True)
        rule = dependence_rule(generic) if differentiable(generic) else None
        together = generic.card.collective is True  # other processes may have sets where there are none here

        def run(*args, **params):
            r = args[whose].run
            check_runs(r, args, cls)
            xs = [a.value if m else a for a, m in zip(args, mine, strict=True)]
            y = spread(*xs, **params)
            many = isinstance(y, tuple)
            parts = list(y) if many else [y]
            read = [r.sets_of(part) for part in parts]  # by functions of users inside of the operation, beside its arguments
            parts = [part.value if type(part) is cls else part for part in parts]
            found = [None] * len(parts)
            sets = [a.sets if m else None for a, m in zip(args, mine, strict=True)]
            if rule is not None and (together or any(s is not None for s in sets)):
                with np.errstate(all="ignore"):  # derivatives are asked whether they are zero, also where there are none
                    found = rule(TrackedCall(r, generic, args, xs, sets, several(y, parts) if many else parts[0], params))
                found = found if many else [found]
            sets = [patterns.union(s, more) for s, more in zip(found, read, strict=True)]
            results = [r.depending(unshared(part, xs), s) for part, s in zip(parts, sets, strict=True)]
            return several(y, results) if many else results[0]

        return run

    @classmethod
    def lift(cls, generic, types):
        """Operations on programs run as they do for arrays, on the followed values: they take the way that these take."""
        return step_into(generic, types)


class PatternRun(Run):
    """One run that finds a pattern. columns: number of inputs. local: whether it need hold at this input only."""

    __slots__ = ("columns", "local")

    def __init__(self, name, columns, local):
        super().__init__(name)
        self.columns, self.local = columns, local

    def input(self, value, first):
        """A value whose elements are the inputs from number `first` on."""
        return self.depending(value, patterns.units(math.prod(shape_of(value)), first, self.columns))

    def depending(self, value, sets):
        """A value whose elements depend on these inputs."""
        if sets is None or not inexact(value):
            return self.varying(value)
        return Pattern[self.depth](snapshot(value), sets, self)

    def varying(self, value):
        """A value without derivative that another input may change."""
        return value if self.local else Pattern[self.depth](snapshot(value), None, self)

    def sets_of(self, x):
        """On which inputs a value depends, None if on none."""
        if type(x) is not Pattern[self.depth]:
            return None
        if x.run is not self:
            raise self.foreign(x.run)
        return x.sets

    def pattern_of(self, function, xs):
        """The pattern of a linear function of a list of arrays like xs, which returns a list of arrays."""
        return find(self.name, function, *tree.flatten(list(xs)), self.local)

    def constant(self, value):
        return Pattern[self.depth](snapshot(value), None, self)


def jacobian_sparsity(f: Callable[P, Any], argnums: int | Sequence[int] = 0, local: bool = False) -> Callable[P, Any]:
    """A function that returns the pattern of f's Jacobian, found in one run: a boolean `scipy.sparse.csr_array`.

    f: function of arrays or trees. argnums: position(s) of the arguments to differentiate. The pattern has a row for each
    floating element of f's result and a column for each of the argument's, leaf after leaf in the order of `tree.leaves`
    and row-major within one. It contains every entry that is not zero, and holds for all inputs that take the same way
    through Python's `if`, `while` and indices; local=True: at the given input only, so that `where`, `maximum` and products
    with zero depend on what is taken. Raises DTypeError for integer arguments, ImportError without SciPy.

    >>> import numpy as np, polyad as pa
    >>> pa.jacobian_sparsity(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    name = title("jacobian_sparsity", f)

    @functools.wraps(f)
    def sparsity(*args, **kwargs):
        return find(name, *flat_function(name, f, args, kwargs, argnums), local)

    return sparsity


def flat_function(name, f, args, kwargs, argnums):
    """f as a function of one tree, the differentiated argument or the tuple of several; that tree's leaves and structure."""
    function, positions, many = chosen(name, f, args, kwargs, argnums)
    x = tuple([args[n] for n in positions]) if many else args[positions[0]]
    leaves, structure = tree.flatten(x)
    return (lambda parts: function(*parts)) if many else function, as_inputs(name, argnums, leaves, x), structure


def find(name, function, leaves, structure, local=False):
    """The pattern of the Jacobian of a function of one tree."""
    sizes = [math.prod(shape_of(x)) if inexact(x) else 0 for x in leaves]
    columns = sum(sizes)
    with PatternRun(name, columns, local) as run:
        firsts = itertools.accumulate([0, *sizes])
        inputs = [run.input(x, first) if inexact(x) else x for x, first in zip(leaves, firsts, strict=False)]
        out = function(tree.unflatten(structure, inputs))
        if is_function(out):
            raise StructureError(f"{name}: the function returns a function; give one that returns arrays")
        results = [constant(settled(y)) for y in tree.leaves(out)]
        parts = [(run.sets_of(y), math.prod(shape_of(y))) for y in results if dtype_of(y).kind in "fc"]
    found = patterns.stacked(parts, columns) if parts else patterns.no_dependence(0, columns)
    found = found.copy()
    found.sum_duplicates()
    return found


def hessian_sparsity(f: Callable[P, Any], argnums: int | Sequence[int] = 0, local: bool = False) -> Callable[P, Any]:
    """A function that returns the pattern of f's Hessian: a symmetric boolean `scipy.sparse.csr_array`.

    f: function with one real number as result; else as for `jacobian_sparsity`. It is the pattern of the gradient's
    Jacobian, so what enters linearly has no entries.

    >>> import numpy as np, polyad as pa
    >>> pa.hessian_sparsity(lambda x: pa.sum(x[1:] * x[:-1]))(np.ones(3)).toarray().astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """

    name = title("hessian_sparsity", f)

    @functools.wraps(f)
    def sparsity(*args, **kwargs):
        return symmetric(name, *flat_function(name, f, args, kwargs, argnums), local)

    return sparsity


def gradient_of(name, function):
    """The gradient of a function of one tree, on behalf of the transformation `name`, for messages."""
    return lambda x: slope(name, function, (x,), {})


def symmetric(name, function, leaves, structure, local=False):
    """The pattern of the Hessian of a function of one tree."""
    found = find(name, gradient_of(name, function), leaves, structure, local)
    found = found.multiply(found.T).tocsr()  # a true entry is found on both sides of the diagonal
    found.sum_duplicates()
    return found
