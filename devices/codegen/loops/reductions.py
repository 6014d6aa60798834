"""Accumulators: how the elements of a reduction are put together in C.

Long sums of floating numbers are taken in blocks (each by vector lanes), and the blocks are added pairwise, so that the
rounding error grows with the logarithm of the length as NumPy's does. The order of additions differs from NumPy's.
"""

import numpy as np

from ..text.expressions import Access, Name, c
from ..text.indices import Buffer
from ..text.scalars import Unsupported, converted, literal, memory_type
from ..text.statements import Array, Assign, Block, Do, If, Local


def nothing(sign, dtype):
    """The number to which any other one can be added ("+"), or by which it can be multiplied ("*"), without a change: compilers
    leave out the first step then. For floating numbers that is no 0, to which -0.0 would be added in vain."""
    start = 1 if sign == "*" else -0.0 if dtype.kind in "fc" else 0
    return literal(complex(start, start) if dtype.kind == "c" and sign == "+" else start, dtype)


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
        """Return what a reduction of nothing gives."""
        if self.sign in ("max", "min"):
            if self.dtype.kind == "f":
                return "-INFINITY" if self.kind == "max" else "INFINITY"
            info = np.iinfo(self.dtype)  # type: ignore
            return literal(info.min if self.kind == "max" else info.max, self.dtype)
        return literal(0 if self.sign in ("+", "|") else 1, self.dtype)

    def combine(self, a, b):
        """Two results put together."""
        if self.sign in ("max", "min"):
            compare = ">" if self.kind == "max" else "<"
            if self.nan and a == self.variable:  # NaN stays in a, and is brought in apart
                return c(f"{{1}} {compare} {{0}} ? {{1}} : {{0}}", a, b)
            return c(f"({{1}} {compare} {{0}}) | ({{1}} != {{1}}) ? {{1}} : {{0}}", a, b)
        value = c(f"{{}} {self.sign} {{}}", a, b)
        return converted(self.ctype, value) if self.dtype.kind in "iu" else value

    # ------------------------------------------------------------------ one loop
    @property
    def clause(self):
        """Write OpenMP's clause for it."""
        extra = f" reduction(+:{self.name}n)" if self.nan else ""
        return f" reduction({self.sign}:{self.name}){extra}"

    @property
    def variable(self):
        return Name(self.name)

    @property
    def unordered(self):
        """The variable that counts elements that are no numbers: a running extremum passes over them."""
        return Name(f"{self.name}n")

    def started(self):
        """The variable's declaration."""
        return Local(self.ctype, self.name, self.start)

    def begin(self):
        """Before the loop."""
        return [self.started(), *([Local(self.ctype, f"{self.name}n", "0")] if self.nan else [])]

    def step(self, value):
        """In the loop: take in a value."""
        count = [Do(c("{0} += {1} != {1} ? 1 : 0", self.unordered, value), (f"{self.name}n",))]
        return [Assign(self.variable, self.combine(self.variable, value)), *(count if self.nan else [])]

    def close(self):
        """After the loop: an element that is not a number makes the result that."""
        return [If(c("{} > 0", self.unordered), [Assign(self.variable, "NAN")])] if self.nan else []

    # ------------------------------------------------------------------ blocks, put together pairwise
    def stack(self):
        """Memory for results of blocks, as many as bits of a counter are set."""
        n = self.name
        return [Array(self.ctype, f"{n}s", 48), Local("int", f"{n}k", "0"), Local("int64_t", f"{n}b", "0")]

    def push(self):
        """After a block."""
        head = c("for (int64_t {0} = {1}++; {0} & 1; {0} >>= 1)", Name("c"), Name(f"{self.name}b"))
        put = Assign(self._of_stack(c("{}++", Name(f"{self.name}k"))), self.variable)
        return [Block(head, self._with(self._popped), (("int64_t", "c"),)), put]

    def empty(self):
        """After the last block."""
        return [Block(c("while ({})", Name(f"{self.name}k")), self._with(self._popped))]

    def together(self, parts, many):
        """All results of an array of them."""
        q = Name("q")
        return [Block(c("for (int {0} = 0; {0} < {1}; {0}++)", q, many), self._with(element(parts, q)), (("int", "q"),))]

    @property
    def _popped(self):
        return self._of_stack(c("--{}", Name(f"{self.name}k")))

    def _of_stack(self, place):
        return element(f"{self.name}s", place)

    def _with(self, other):
        """Statements that put another result together with the running one."""
        value = self.combine(self.variable, Name("other"))
        if self.nan:
            value = c("{0} != {0} ? {0} : ({1})", Name("other"), value)
        return [Local(self.ctype, "other", other), Assign(self.variable, value)]


def element(array, place):
    """An element of a local array of this name."""
    return Access(Buffer(array, None, ()), place)
