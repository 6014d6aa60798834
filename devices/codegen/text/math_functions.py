"""The words of the C expressions on cards: what `sin(…)` or `floor_divide(…)` is in C for each dtype.

A word is a function of libm (`sin`, for float `sinf`, for complex `csin`), a helper written below, or a function of
SciPy's that is called by its pointer. In helpers `T` is the type, `R` that of a complex number's parts, `@word` another
word for the same type, `%word` one for the parts.
"""

import re
from typing import Any

import numpy as np

from .exponentials import TEXT as EXPONENTIALS
from .exponentials import exponential
from .expressions import c
from .helper_functions import HELPERS
from .scalars import Unsupported, code, ctype, real_dtype
from .small_products import text as products_text
from .small_solves import text as dense_text
from .system import VECTOR, special_arity, vector_functions

NOTHING = """\
#if defined(__clang__) || !defined(__GNUC__)
#define nothing() 0
#else
__attribute__((noipa, const)) static int64_t nothing(void) { return 0; }
#endif"""
LIBM = {
    **VECTOR, "sqrt": 1, "floor": 1, "ceil": 1, "trunc": 1, "rint": 1, "fabs": 1, "fmod": 2, "copysign": 2, "nextafter": 2,
    "lgamma": 1, "tgamma": 1, "fmax": 2, "fmin": 2,
}  # fmt: skip
COMPLEX = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
           "sqrt", "real", "imag", "conj")  # fmt: skip
COMPLEX_NAMES = {"real": "creal", "imag": "cimag", "conj": "conj", "abs": "cabs", "angle": "carg"}
# what a word costs, in additions; those not named here cost FUNCTION
COSTS = {
    "exp": 15, "log": 15, "pow": 40, "divide": 9, "sqrt": 9,
    **dict.fromkeys(("maximum", "minimum", "abs", "sign", "isnan", "isfinite", "isinf", "floor", "rint", "unless_zero"), 1),
    **dict.fromkeys(("select", "equal", "nonzero"), 1),
}  # fmt: skip
FUNCTION = 20
WORD = re.compile(r"\b([a-z_][a-z0-9_]*)\(")
CALL = re.compile(r"([@%])([a-z_0-9]+)")


class Functions:
    """The words that one C source uses: `text` is their C, `pointers` names the functions whose addresses it needs."""

    in_line = True  # whether exponentials are written here, not the device's
    blocks = True  # whether statements may be made that are no loop nest

    def type(self, name):
        """A type of this language, from C's name for it."""
        return name

    def check(self, dtype):
        """Raise Unsupported for a dtype of which this language has no numbers."""
        ctype(dtype)

    def in_dialect(self, template):
        """A helper's template in this language."""
        return template

    def __init__(self):
        self.declared, self.defined, self.pointers = {}, {}, {}
        self.patterns = {}  # id(equation) -> what elementwise.py made of it
        self.numbers = {}  # prefix -> how many names begin with it
        self.programs = {}  # id(program) -> the C function of one that calls itself
        self.small_products = set()  # (code of a dtype, part) of kernels for products of small matrices
        self.dense = set()  # (name, code of a dtype) of functions on small matrices
        self.needs = set()  # parts of the runtime that functions of programs need

    def unique(self, prefix):
        """A name that occurs nowhere else in the source."""
        self.numbers[prefix] = self.numbers.get(prefix, 0) + 1
        return f"{prefix}{self.numbers[prefix]}"

    def expression(self, template, dtype, arguments, numbers):
        """A card's expression for these arguments, and parameters by name, in this dtype. Raises Unsupported for an unknown
        word."""
        words = {word: self.word(word, dtype) for word in dict.fromkeys(WORD.findall(template))}
        text = WORD.sub(lambda m: f"{words[m.group(1)]}(", template)
        return c(text, *arguments, calls=frozenset(words.values()), **numbers)

    def word(self, name, dtype):
        """The C function that a word is in a dtype."""
        dtype = np.dtype(dtype)
        kind = dtype.kind
        if kind == "f" and name in EXPONENTIALS and self.in_line:
            self.defined[f"{name}_{code(dtype)}"] = exponential(name, code(dtype))
            return f"{name}_{code(dtype)}"
        found = HELPERS.get((name, kind))
        if found is not None:
            return self._helper(name, dtype, found)
        if kind == "f" and special_arity(name):
            return self._special(name)
        if kind == "f" and name in LIBM:
            return self._libm(name, "f" if dtype.char == "f" else "", LIBM[name])
        if kind == "c" and (name in COMPLEX or name in COMPLEX_NAMES):
            return COMPLEX_NAMES.get(name, "c" + name) + ("f" if dtype.char == "F" else "")
        raise Unsupported(f"no {name} for {dtype}")

    def _libm(self, name, suffix, arity):
        full = name + suffix
        if full not in self.declared:
            real, vectorized = "float" if suffix else "double", "VECTORIZED " * (full in vector_functions())
            self.declared[full] = f"{vectorized}{real} {full}({', '.join([real] * arity)});"
        return full

    def _helper(self, name, dtype, template):
        full = f"{name}_{code(dtype)}"
        if full not in self.defined:
            self.defined[full] = None  # a place behind what it calls is found below
            parts = real_dtype(dtype) if dtype.kind in "fc" else dtype
            words = lambda m: self.word(m.group(2), dtype if m.group(1) == "@" else parts)
            text = CALL.sub(words, self.in_dialect(template))
            text = re.sub(r"\bT\b", self.type(ctype(dtype)), text)
            text = re.sub(r"\bR\b", self.type(ctype(parts)), text)
            text = text.replace("BITS", str(8 * dtype.itemsize)).replace("PARTS", str(8 * parts.itemsize))
            del self.defined[full]
            self.defined[full] = text.replace("NAME", full)
        return full

    def _special(self, name):
        arity: Any = special_arity(name)
        if name not in self.pointers:
            self.pointers[name] = f"double (*p_{name})({', '.join(['double'] * arity)}, int)"
            arguments = [f"double x{i}" for i in range(arity)]
            self.defined[f"special_{name}"] = (
                f"static inline double special_{name}({', '.join(arguments)})"
                f" {{ return pointers.p_{name}({', '.join(f'x{i}' for i in range(arity))}, 0); }}"
            )
        return f"special_{name}"

    def host_only(self):
        """Note C that other devices have no form of. Raises Unsupported there."""

    def place(self, value):
        """A place in an array, from a value that may have come from a truth value: gcc 12 loads from wrong places if it sees
        that one did, so a number that it does not know to be 0 comes in between."""
        self.defined["nothing"] = NOTHING
        return c("{} ^ nothing()", value, calls=frozenset(("nothing",)))

    def blas(self, name):
        """Note that a matrix product of BLAS is called."""
        self.pointers[name] = f"void (*p_{name})(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, "
        self.pointers[name] += "void *, void *, int *)"

    @property
    def text(self):
        """Declarations and definitions, in the order C needs."""
        lines = sorted(self.declared.values())
        if self.pointers:
            members = "".join(f" {p};" for p in self.pointers.values())
            lines.append(f"struct pointers {{{members} }} pointers;")
        products = products_text(self.small_products)
        return "\n".join([*lines, *self.defined.values(), *products, *dense_text(self.dense)])
