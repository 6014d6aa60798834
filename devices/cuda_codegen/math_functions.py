"""The words of card expressions in CUDA C++, and what else C says in another way.

The expressions, helpers and statements are those of C code for the host; here are only the differences: CUDA's library has
special functions of its own, complex numbers are a class, functions are marked as the device's.
"""

import re

import numpy as np

from ..codegen.text.helper_functions import HELPERS
from ..codegen.text.math_functions import LIBM, Functions
from ..codegen.text.printer import Printer
from ..codegen.text.scalars import Unsupported
from ..codegen.text.system import SPECIAL_NAMES

# SciPy's functions that CUDA's library has
SPECIAL = {
    "erfinv": "erfinv", "erfcinv": "erfcinv", "erfcx": "erfcx", "ndtr": "normcdf", "ndtri": "normcdfinv", "lgamma": "lgamma",
    "tgamma": "tgamma", "i0": "cyl_bessel_i0", "i1": "cyl_bessel_i1", "j0": "j0", "j1": "j1", "y0": "::y0", "y1": "::y1",
}  # fmt: skip
# functions of complex numbers, for both precisions; inverse trigonometric ones are left to CuPy
COMPLEX = {
    "exp": "cexp", "log": "clog", "sqrt": "csqrt", "sin": "csin", "cos": "ccos", "tan": "ctan", "sinh": "csinh",
    "cosh": "ccosh", "tanh": "ctanh", "real": "creal", "imag": "cimag", "conj": "conj", "abs": "cabs", "angle": "carg",
}  # fmt: skip
TYPES = {"double complex": "c16", "float complex": "c8"}
# what helpers' templates say in GNU C, and how C++ says it
PARTS = re.compile(r"\b__(real|imag)__ (\w+)")
MEMBERS = {"real": "re", "imag": "im"}
BUILTIN = re.compile(r"\b__builtin_(signbit|ldexp)\b")


def cuda_type(name):
    """A type as CUDA C++ calls it, from C's name for it."""
    base = name.removesuffix(" *")
    return TYPES[base] + name[len(base) :] if base in TYPES else name


class CudaPrinter(Printer):
    """CUDA C++: no pragmas, and a class of complex numbers."""

    def type(self, name):
        return cuda_type(name)

    def pragmas(self, block):
        return []


class CudaFunctions(Functions):
    """The words that one CUDA source uses; `text` is their definitions."""

    in_line = blocks = False

    def word(self, name, dtype):
        """The CUDA function that a word is in a dtype. Raises Unsupported."""
        dtype = np.dtype(dtype)
        kind = dtype.kind
        if kind == "f" and name in SPECIAL:
            return SPECIAL[name] + ("f" if dtype.char == "f" else "")
        if kind == "f" and name in SPECIAL_NAMES:
            raise Unsupported(f"no {name} in CUDA's library")
        if kind == "c" and name in COMPLEX:
            return COMPLEX[name]
        if kind == "c" and name in LIBM and (name, "c") not in HELPERS:
            raise Unsupported(f"no {name} for {dtype}")
        return super().word(name, dtype)

    def _libm(self, name, suffix, arity):
        return name + suffix

    def host_only(self):
        raise Unsupported("C code of the host")

    def place(self, value):
        return value

    def type(self, name):
        return cuda_type(name)

    def in_dialect(self, template):
        text = PARTS.sub(lambda m: f"{m.group(2)}.{MEMBERS[m.group(1)]}", template)
        return BUILTIN.sub(r"\1", text).replace("static", "static __device__", 1)
