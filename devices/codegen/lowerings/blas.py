"""Calls of BLAS from C: what it takes, and how it is told where matrices lie.

BLAS knows a matrix by an address, a leading dimension and whether it is transposed. An argument that it finds wrong it reports
on standard error and returns without a result, and its matrix products have no `info` that C could look at; so everything that
is told to it is made here, and a matrix that cannot be told is left to our own loops.
"""

from typing import Any

from ..text.expressions import Name, c, call
from ..text.scalars import ctype
from ..text.statements import Do, Local
from ..text.system import blas_functions

GEMM = {"d": "dgemm", "f": "sgemm", "D": "zgemm", "F": "cgemm"}
MOST = 2**31  # numbers that BLAS's integers hold


def has_product(dtype):
    """Return whether there is a matrix product of this dtype."""
    return dtype.char in GEMM and bool(blas_functions())


def layout(place, row, column):
    """(whether it lies in columns, leading dimension) of a matrix whose element lies at `place`; None if BLAS cannot be told.

    row, column: (name of the counter, length). In rows, elements of a row follow each other, and the leading dimension, the
    step from row to row, is at least as long as a row, for rows may not overlap or run backwards. An axis of length 1 has none.
    """
    for in_columns, (across, count), (along, length) in ((False, row, column), (True, column, row)):
        step = place.coefficient(across) if count > 1 else length
        if (length == 1 or place.coefficient(along) == 1) and max(length, 1) <= step < MOST:
            return in_columns, step
    return None


def gemm(dtype, n, m, k, x, y, o, functions):
    """Statements of out = x y for matrices (n, k), (k, m) and (n, m), or None where BLAS cannot be told of them.

    x, y, o: (Buffer, Index of an element in the counters i, l and j). To BLAS, which counts by columns, rows are columns: what
    is computed is outᵀ = yᵀ xᵀ.
    """
    layouts: Any = layout(x[1], ("i", n), ("l", k)), layout(y[1], ("l", k), ("j", m)), layout(o[1], ("i", n), ("j", m))
    if None in layouts or layouts[2][0] or max(n, m, k) >= MOST:
        return None
    name, t = GEMM[dtype.char], ctype(dtype)
    functions.blas(name)
    (tx, ldx), (ty, ldy), (_, ldo) = layouts
    at = lambda operand: c("(void *)({} + {})", Name(operand[0].name), operand[1].without({"i", "j", "l"}))
    sign = lambda in_columns: '"T"' if in_columns else '"N"'
    numbers = {"M": m, "N": n, "K": k, "lda": ldy, "ldb": ldx, "ldc": ldo}
    told = [*[Local("int", cell, x) for cell, x in numbers.items()], Local(t, "one", "1"), Local(t, "zero", "0")]
    cell = lambda name: c("&{}", Name(name))
    sizes, left = map(cell, ("M", "N", "K", "one")), (at(y), cell("lda"), at(x), cell("ldb"), cell("zero"), at(o), cell("ldc"))
    return [*told, Do(call(f"pointers.p_{name}", sign(ty), sign(tx), *sizes, *left))]
