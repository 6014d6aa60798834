"""Numbers in C: the type of each dtype, literals, conversions between types."""

import math

import numpy as np

from .expressions import Piece, Type, c, call

TYPES = {
    "?": ("b1", "_Bool"), "b": ("i1", "int8_t"), "h": ("i2", "int16_t"), "i": ("i4", "int32_t"), "l": ("i8", "int64_t"),
    "q": ("i8", "int64_t"), "B": ("u1", "uint8_t"), "H": ("u2", "uint16_t"), "I": ("u4", "uint32_t"),
    "L": ("u8", "uint64_t"), "Q": ("u8", "uint64_t"), "f": ("f4", "float"), "d": ("f8", "double"),
    "F": ("c8", "float complex"), "D": ("c16", "double complex"),
}  # fmt: skip
if np.dtype("l").itemsize == 4:
    TYPES["l"], TYPES["L"] = TYPES["i"], TYPES["I"]


class Unsupported(Exception):
    """Raised for what cannot be written in C here; the operation then runs by its own kernel."""


def code(dtype):
    """Short name of a dtype, such as `f8`. Raises Unsupported for half and extended precision."""
    return _type(dtype)[0]


def ctype(dtype):
    """C type of a value of this dtype."""
    return _type(dtype)[1]


def _type(dtype):
    found = TYPES.get(np.dtype(dtype).char)
    if found is None:
        raise Unsupported(f"no C type for {dtype}")
    return found


def memory_type(dtype):
    """C type of an element in memory: booleans are bytes there, of which any but zero is true."""
    return "uint8_t" if np.dtype(dtype).kind == "b" else ctype(dtype)


def real_dtype(dtype):
    """The dtype of the parts of a complex number."""
    return np.dtype(dtype).type(0).real.dtype


def literal(value, dtype):
    """A number as a C constant of this dtype, exact; what is C already, as it is. Raises Unsupported if the dtype does not
    hold it."""
    if isinstance(value, Piece):
        return value
    dtype = np.dtype(dtype)
    try:
        with np.errstate(all="ignore"):
            number = dtype.type(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise Unsupported(str(error)) from None
    if dtype.kind == "b":
        return "1" if number else "0"
    if dtype.kind in "iu":
        return _whole(int(number), dtype)
    if dtype.kind == "f":
        return _floating(float(number), "f" if dtype.char == "f" else "")
    suffix, make = ("f", "CMPLXF") if dtype.char == "F" else ("", "CMPLX")
    return f"{make}({_floating(float(number.real), suffix)}, {_floating(float(number.imag), suffix)})"


class Long(str, Piece):
    """A constant of 64 bits, as C says it; not all dialects do so."""

    __slots__ = ()


def _whole(n, dtype):
    if dtype.itemsize < 8:
        return f"({n})" if n < 0 else str(n) + ("u" if dtype.kind == "u" and dtype.itemsize == 4 else "")
    if n == -(2**63):
        return "INT64_MIN"
    text = f"{n}{'ULL' if dtype.kind == 'u' else 'LL'}"
    return Long(f"({text})" if n < 0 else text)


def _floating(x, suffix):
    if math.isnan(x):
        return "(-NAN)" if math.copysign(1.0, x) < 0 else "((%s)NAN)" % ("float" if suffix else "double")
    if math.isinf(x):
        return "(-INFINITY)" if x < 0 else "INFINITY"
    text = repr(x) if x == int(x) and abs(x) < 1e15 else x.hex()
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


def cast(value, source, target):
    """A value of dtype `source` as one of dtype `target`, as NumPy's astype converts (complex to real: the real part)."""
    if source is target:  # NumPy has one object for most dtypes
        return value
    source, target = np.dtype(source), np.dtype(target)
    if ctype(source) == ctype(target):
        return value
    if target.kind == "b" and source.kind == "c":  # part by part: see helper_functions.py
        part = "f" if source.char == "F" else ""
        return c(f"((creal{part}({{0}}) != 0) | (cimag{part}({{0}}) != 0))", value, calls=frozenset((f"creal{part}",)))
    if target.kind == "b":
        return c("({} != 0)", value, calls=frozenset(("_Bool",)))
    if source.kind == "b" and target.kind == "f":  # a choice: gcc 12 makes no vectors of conversions of comparisons
        return c("({} ? {} : {})", value, literal(1, target), literal(0, target), calls=frozenset((ctype(target),)))
    if source.kind == "c" and target.kind != "c":
        value = call("crealf" if source.char == "F" else "creal", value)
    return converted(ctype(target), value, outer=True)


def converted(ctype_, value, outer=False):
    """A value as one of a C type. outer: in parentheses."""
    return c("(({})({}))" if outer else "({})({})", Type(ctype_), value, calls=frozenset((ctype_,)))
