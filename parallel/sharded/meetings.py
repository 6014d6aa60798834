"""Sharded arrays and array types of structure: what meets a Sharded array becomes dense, and is cut as that is."""

import itertools

from ...dispatch.containers import densified
from ...dsl import bilinear_family, claim, combine_rule, divide, elementwise_family, expand_dims, linalg
from ...dsl.arrays import Diagonal, OneHot, Zeros
from .array import Sharded

STRUCTURED = (Zeros, Diagonal, OneHot)


def only_sharded(op, xs):
    """The arguments with those of structure dense; zeros are so unasked."""
    return [x if isinstance(x, Sharded) or not isinstance(x, STRUCTURED) else _dense(op, x) for x in xs]


def _dense(op, x):
    return x.dense() if isinstance(x, Zeros) else densified(x, f"{op.__name__} with a Sharded array")


def meeting(op, *xs, **params):
    """Operate on a Sharded array and the dense form of others."""
    return op(*only_sharded(op, xs), **params)


for structured in STRUCTURED:
    for family in (elementwise_family, bilinear_family):
        combine_rule(structured, Sharded, family)(meeting)
for pair in itertools.combinations(STRUCTURED, 2):
    claim(elementwise_family, *pair, Sharded)(meeting)


@linalg.solve.method
def solve_diagonal_with_sharded(a: Diagonal, b: Sharded, /):
    return meeting(divide, b, a.diag if b.ndim == 1 else expand_dims(a.diag, -1))
