"""Products of matrices whose axes have length 1 in every place, transposed or not, with every stride."""

import itertools

import numpy as np

import polyad as pa

from .cases import Call, Case
from .layouts import LAYOUTS

turned = lambda A, turn: pa.swapaxes(A, -1, -2) if turn else A
FORMS = {f"{a}{b}": (a == "T", b == "T") for a in "NT" for b in "NT"}  # as BLAS names them
DTYPES = ("f8", "f4", "c16", "c8")
MODES = ("value", "gradient")


def product(left, right):
    return lambda A, B: turned(A, left) @ turned(B, right)


def build(form, m, k, n, dtype, layout, mode, seed=0, batch=()):
    """The Call of a product of an m×k and a k×n matrix, that arrive transposed where `form` says T."""
    rng = np.random.default_rng([seed, m, k, n])
    left, right = FORMS[form]
    shapes = [(*batch, *((k, m) if left else (m, k))), (*batch, *((n, k) if right else (k, n)))]
    draw = lambda shape: rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
    arrays = [LAYOUTS[layout](draw(shape).astype(dtype)) for shape in shapes]
    case = Case(f"product {form} of {m}, {k}, {n}{' in lanes' * bool(batch)}", 0, max(m, k, n), dtype, layout, mode, seed)
    return Call(case, product(left, right), arrays)


def lengths(long):
    """All m, k and n that are 1 or long, but for those that are all the same."""
    return [some for some in itertools.product((1, long), repeat=3) if len(set(some)) > 1]


def everything(long, dtypes=DTYPES, layouts=("plain",), modes=MODES):
    for form, (m, k, n), dtype, layout, mode in itertools.product(FORMS, lengths(long), dtypes, layouts, modes):
        yield build(form, m, k, n, dtype, layout, mode)
