"""What may travel, in which form, and as what it comes back: local checks and private copies, before any traffic.

MPI libraries disagree on bool, NaN, float16 and complex, and transpose Fortran order silently; one table here
decides for all of them.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

REDUCTIONS = ("sum", "prod", "max", "min")


def host_array(x, operation):
    """`x` as a native-endian NumPy array of a numeric dtype, possibly the caller's own buffer; TypeError else."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{operation}: a masked array would lose its mask; send x.filled(...) and x.mask")
    a = np.asarray(x)
    if a.dtype.kind not in "biufc":
        raise TypeError(
            f"{operation}: dtype {a.dtype} cannot be sent (shape {a.shape}); bool, integer, real and "
            "complex arrays can: convert it first, or use gather_objects for small control data"
        )
    return a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))


def private_copy(a):
    """A C-order copy that nobody else holds."""
    return np.array(a, order="C", copy=True)


def carrier(a):
    """The same memory, as a dtype that every MPI library can move."""
    return a.view(np.uint16) if a.dtype == np.float16 else a


def sum_dtype(dtype):
    """The dtype of NumPy's sums of this dtype."""
    return np.sum(np.zeros(0, dtype)).dtype


class Reduction(NamedTuple):
    """The way to reduce one dtype: `encode` gives the fresh array that travels, `decode` the result from it.

    `mpi` names the MPI operation; '' means that the values are gathered and reduced with `fold` on each rank. `direct`: the
    array itself may travel, and what arrives is the result.
    """

    mpi: str
    encode: Callable
    decode: Callable
    fold: Callable | None = None
    direct: bool = False


@cache
def reduction(op, dtype, operation):
    """The Reduction for `op` ('sum', 'prod', 'max', 'min') of arrays of `dtype`.

    Sums and products have the dtype of np.sum: bool and small integers count in int64, unsigned ones in uint64. Maxima and
    minima give NaN where any rank has NaN. Errors: ValueError for another `op`, TypeError for complex max and min.
    """
    if op not in REDUCTIONS:
        raise ValueError(f"{operation}: op {op!r} is not one of {', '.join(REDUCTIONS)}")
    if op in ("sum", "prod"):
        result = sum_dtype(dtype)
        # float16 is added in float32 and rounded once, as np.sum does
        return _through(op.upper(), np.dtype(np.float32) if result == np.float16 else result, result, dtype)
    if dtype.kind == "c":
        raise TypeError(f"{operation}({op}): {dtype} has no order; reduce abs(x), or real and imaginary parts")
    if dtype.kind == "f":
        return _ordered_bits(op, dtype) if dtype.itemsize <= 8 else _folded(op)
    return _through(op.upper(), np.dtype(np.uint8) if dtype.kind == "b" else dtype, dtype, dtype)


def _through(mpi, wire, result, dtype):
    def decode(a):
        return a if wire == result else a.astype(result)

    return Reduction(mpi, lambda a: np.array(a, dtype=wire, order="C", copy=True), decode, direct=wire == result == dtype)


def _ordered_bits(op, dtype):
    """Floats as integers of the same order, with NaN beyond infinity: then an integer MAX is exact on every MPI.

    IEEE 754 numbers are ordered like sign and magnitude integers; the exclusive-or makes two's complement of them.
    """
    integer = np.dtype(f"i{dtype.itemsize}")
    largest = integer.type(np.iinfo(integer).max)
    shift = integer.type(8 * integer.itemsize - 1)
    nan_key = np.iinfo(integer).max if op == "max" else np.iinfo(integer).min

    def flip(bits):
        return bits ^ ((bits >> shift) & largest)

    def encode(a):
        a = np.array(a, order="C", copy=True)
        key = np.asarray(flip(a.view(integer)))
        np.copyto(key, nan_key, where=np.isnan(a))
        return key

    return Reduction(op.upper(), encode, lambda key: np.asarray(flip(key)).view(dtype))


def _folded(op):
    fold = np.maximum if op == "max" else np.minimum
    return Reduction("", private_copy, lambda a: a, fold.reduce)
