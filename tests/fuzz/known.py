"""Kinds of faults that are known and open: findings of these are not new. Empty when all are repaired."""

import numpy as np

from . import programs


def known(finding):
    """The name of the open kind that a finding is of, or None."""
    return next((name for name, is_one in OPEN.items() if is_one(finding)), None)


def foreign(case):
    return not np.dtype(case.dtype).isnative


WORDS = ("product", "solution", "inverse", "likelihood", "factors", "cholesky")
PRODUCTS = (
    "matmul", "dot", "outer", "inner", "tensorsolve", "tensorinv", "tensordot", "contract", "matvec", "vecmat", "vecdot",
    "multi_dot", "kron", "network",
)  # fmt: skip
SUMS = ("sum", "mean", "var", "std")


def product(case):
    return any(word in case.name for word in WORDS) or case.name in PRODUCTS


def sums(case):
    return case.name in programs.SUMS or case.name in SUMS


OPEN = {
    "dtypes of foreign byte order": lambda f: foreign(f.case) or f.case.name == "foreign result",
    "sums in half precision": lambda f: f.case.dtype == "f2" and f.kind != "compiled execution raises",
    "sums in single precision": lambda f: f.case.dtype in ("f4", "c8") and f.kind == "compiled is not eager" and sums(f.case),
    "outer products of large vectors": lambda f: product(f.case) and f.case.size >= 33,
    "products of complex numbers": lambda f: np.dtype(f.case.dtype).kind == "c" and f.case.mode != "value",
    "results that share memory": lambda f: f.kind == "a result shares memory with an argument",
}  # fmt: skip
