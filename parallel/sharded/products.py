"""Products of sharded arrays: of all ways to lay out the factors and the result the one that moves the fewest bytes."""

from ...dispatch import ShapeError, describe
from ...dsl import matmul
from ...dsl.avals import shape_of
from .either import of_either
from .propagate import Pattern, batch_letters, run
from .reductions import whole_of


def sharded_product(x, y):
    """x @ y, where one of them is Sharded at least: rows and columns may be cut, batch axes, or the axis that is summed over,
    which leaves a partial sum."""
    a, b = shape_of(x), shape_of(y)
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ShapeError(f"matmul: the shapes do not fit: {describe(x)} @ {describe(y)}")
    lead_a, lead_b = a[:-2], b[:-2]
    count = max(len(lead_a), len(lead_b))
    lead = tuple([_broadcast_length(n, m) for n, m in zip(_with_ones(lead_a, count), _with_ones(lead_b, count), strict=True)])
    row, inner, column = count, count + 1, count + 2
    first = (*batch_letters(lead_a, lead), *[row][: len(a) - 1], inner)
    second = (*batch_letters(lead_b, lead), inner, *[column][: len(b) - 1])
    output = (*range(count), *[row][: len(a) - 1], *[column][: len(b) - 1])
    shape = (*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
    z = run("matmul", Pattern((first, second), output, combine="sum", linear="each"), (x, y), matmul, shape)
    return z if shape else whole_of(z, "matmul")


def _with_ones(lead, count):
    return (1,) * (count - len(lead)) + lead


def _broadcast_length(n, m):
    if n != m and 1 not in (n, m):
        raise ShapeError(f"matmul: batch axes of lengths {n} and {m} do not broadcast")
    return m if n == 1 else n


of_either(matmul, sharded_product)
