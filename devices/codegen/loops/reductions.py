"""Accumulators: how the elements of a reduction are put together in C.

Long sums of floating numbers are taken in blocks (each by vector lanes), and the blocks are added pairwise, so that the
rounding error grows with the logarithm of the length as NumPy's does. The order of additions differs from NumPy's.
"""

import numpy as np

from ..text.scalars import Unsupported, literal, memory_type


class Accumulator:
    """A running result. kind: the sign of a lowering's `reduce`; dtype: of the result; name: of the C variable."""

    def __init__(self, kind, dtype, name):
        self.kind = kind
        self.dtype, self.name = np.dtype(dtype), name
        self.ctype = memory_type(dtype)  # of truth values, too, for compilers make no vectors of them
        self.floating = self.dtype.kind in "fc"
        if self.kind in ("max", "min") and self.dtype.kind == "c":
            raise Unsupported("extrema of complex numbers")
        self.nan = self.kind in ("max", "min") and self.dtype.kind == "f"
        self.simd = not (self.dtype.kind == "c" and self.kind == "*")
        self.blocked = self.kind in ("+", "*") and self.floating
        self.sign = self.kind
        if self.dtype.kind == "b" and self.sign in ("max", "min"):
            self.sign = "|" if self.kind == "max" else "&"
        if self.dtype.kind == "b" and self.sign in "+*":
            self.sign = "|" if self.sign == "+" else "&"

    def taken_as(self, dtype):
        """The dtype in which elements of this dtype are taken in."""
        return np.dtype(bool) if self.kind in ("&", "|") else self.dtype

    @property
    def start(self):
        """What a reduction of nothing gives."""
        if self.sign in ("max", "min"):
            if self.dtype.kind == "f":
                return "-INFINITY" if self.kind == "max" else "INFINITY"
            info = np.iinfo(self.dtype)  # type: ignore
            return literal(info.min if self.kind == "max" else info.max, self.dtype)
        return literal(0 if self.sign in ("+", "|") else 1, self.dtype)

    def combine(self, a, b):
        """C text of two results put together."""
        if self.sign in ("max", "min"):
            compare = ">" if self.kind == "max" else "<"
            if self.nan and a == self.name:  # NaN stays in a, and is brought in apart
                return f"{b} {compare} {a} ? {b} : {a}"
            return f"({b} {compare} {a}) | ({b} != {b}) ? {b} : {a}"
        text = f"{a} {self.sign} {b}"
        return f"({self.ctype})({text})" if self.dtype.kind in "iu" else text

    # ------------------------------------------------------------------ one loop
    @property
    def clause(self):
        """What OpenMP is told of it."""
        extra = f" reduction(+:{self.name}n)" if self.nan else ""
        return f" reduction({self.sign}:{self.name}){extra}"

    def begin(self):
        """Before the loop. Elements that are no numbers are counted apart: a running extremum passes over them."""
        return [f"{self.ctype} {self.name} = {self.start};", *([f"{self.ctype} {self.name}n = 0;"] if self.nan else [])]

    def step(self, text):
        """In the loop: take in a value."""
        count = [f"{self.name}n += {text} != {text} ? 1 : 0;"] if self.nan else []
        return [f"{self.name} = {self.combine(self.name, text)};", *count]

    def close(self):
        """After the loop: an element that is not a number makes the result that."""
        return [f"if ({self.name}n > 0) {self.name} = NAN;"] if self.nan else []

    # ------------------------------------------------------------------ blocks, put together pairwise
    def stack(self):
        """Memory for results of blocks, as many as bits of a counter are set."""
        return [f"{self.ctype} {self.name}s[48]; int {self.name}k = 0; int64_t {self.name}b = 0;"]

    def push(self):
        """After a block."""
        n = self.name
        return [f"for (int64_t c = {n}b++; c & 1; c >>= 1) {self._with(f'{n}s[--{n}k]')}", f"{n}s[{n}k++] = {n};"]

    def empty(self):
        """After the last block."""
        return [f"while ({self.name}k) {self._with(f'{self.name}s[--{self.name}k]')}"]

    def together(self, parts, count):
        """All results of an array of them."""
        return [f"for (int q = 0; q < {count}; q++) {self._with(f'{parts}[q]')}"]

    def _with(self, other):
        """C text that puts another result together with the running one."""
        value = self.combine(self.name, "other")
        if self.nan:
            value = f"other != other ? other : ({value})"
        return f"{{ {self.ctype} other = {other}; {self.name} = {value}; }}"
