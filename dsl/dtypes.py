"""Data types: their names, kinds, limits and promotion, as the Python array API standard 2025.12 has them.

A dtype is NumPy's scalar class of that name (`polyad.float32 is numpy.float32`), so it compares equal to the `dtype` of
every array and `polyad.float32(2)` makes a number of it. NumPy's own dtype objects and names are taken everywhere too.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dispatch import Array, DTypeError, describe
from .array_libraries import Scalar
from .avals import dtype_of, is_number

bool = np.bool
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float32, float64, complex64, complex128 = np.float32, np.float64, np.complex64, np.complex128

LETTERS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}  # kind in the standard -> kinds of NumPy
DTYPES = {
    cls.__name__: cls
    for cls in (
        bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128,
    )
}  # fmt: skip


def dtype_named(operation, x):
    """x as NumPy's dtype: a dtype of any library, its name, or a Python type. Raises DTypeError naming the operation."""
    try:
        return np.dtype(x)
    except TypeError:
        pass
    try:
        return np.dtype(str(x).rpartition(".")[2])  # another library's, such as torch.float32
    except TypeError:
        raise DTypeError(f"{operation}: {x!r} is no dtype; write polyad.float64, or its name") from None


def _dtype_given(operation, x):
    """The dtype of an array or number, or the dtype that x is."""
    if isinstance(x, (Array, Scalar)) and not isinstance(x, type):
        return dtype_of(x)
    return dtype_named(operation, x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that an operation on all of these returns (NumPy's promotion, NEP 50).

    arrays_and_dtypes: at least one array, layer value, container, dtype or Python number; a Python number follows the
    others and counts as float64, int64, … only among its like. Returns a numpy.dtype. Raises DTypeError.

    >>> import numpy as np, polyad as pa
    >>> pa.result_type(np.ones(2, pa.float32), pa.int8, 1.0)
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise DTypeError("result_type: nothing is given; give at least one array or dtype")
    given = [x if is_number(x) else _dtype_given("result_type", x) for x in arrays_and_dtypes]
    try:
        return np.result_type(*given)
    except TypeError:
        shown = ", ".join(describe(x) if isinstance(x, Array) else repr(x) for x in arrays_and_dtypes)
        raise DTypeError(f"result_type: {shown} have no common dtype") from None


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Return whether every value of one dtype is one of another (NumPy's "safe" casting).

    from_: array or dtype. to: dtype. Raises DTypeError.

    >>> import polyad as pa
    >>> pa.can_cast(pa.int32, pa.float64), pa.can_cast(pa.int64, pa.int8)
    (True, False)
    """
    return np.can_cast(_dtype_given("can_cast", from_), dtype_named("can_cast", to))


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Return whether a dtype is of a kind.

    kind: a dtype, one of "bool" "signed integer" "unsigned integer" "integral" "real floating" "complex floating"
    "numeric", or a tuple of these, of which one is enough. Raises DTypeError for other kinds.

    >>> import polyad as pa
    >>> pa.isdtype(pa.int8, "integral"), pa.isdtype(pa.int8, (pa.float32, "real floating"))
    (True, False)
    """
    dtype = dtype_named("isdtype", dtype)
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str) and each not in LETTERS and each not in DTYPES:
            raise DTypeError(f"isdtype: {each!r} is no kind; kinds are {', '.join(map(repr, LETTERS))}, and dtypes")
        letters = LETTERS.get(each) if isinstance(each, str) else None
        if dtype.kind in letters if letters else dtype == dtype_named("isdtype", each):
            return True
    return False


@dataclass(frozen=True)
class FloatLimits:
    """Limits of a floating dtype, as Python numbers. bits: of one real number. eps: from 1 to the next larger number.
    smallest_normal: smallest positive number of full precision. dtype: the real dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@dataclass(frozen=True)
class IntegerLimits:
    """Limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(type: Any, /) -> Any:
    """Limits of a floating or complex dtype (for complex: those of its parts): bits eps max min smallest_normal dtype.

    type: dtype, or an array of it. Raises DTypeError for other dtypes.

    >>> import polyad as pa
    >>> pa.finfo(pa.complex64).dtype, pa.finfo(pa.float64).eps
    (dtype('float32'), 2.220446049250313e-16)
    """
    dtype = _dtype_given("finfo", type)
    if dtype.kind not in "fc":
        raise DTypeError(f"finfo: {dtype} is no floating or complex dtype; use iinfo for integers")
    found = np.finfo(dtype)
    return FloatLimits(
        int(found.bits), float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), found.dtype
    )


def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype: bits max min dtype.

    type: dtype, or an array of it. Raises DTypeError for other dtypes.

    >>> import polyad as pa
    >>> pa.iinfo(pa.int8).min
    -128
    """
    dtype = _dtype_given("iinfo", type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: {dtype} is no integer dtype; use finfo for floating ones")
    found = np.iinfo(dtype)
    return IntegerLimits(int(found.bits), int(found.max), int(found.min), dtype)
