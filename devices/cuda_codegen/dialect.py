"""CUDA C++ as a dialect of kernels, and the words of card expressions in it.

The expressions, helpers and statements are those of C code for the host; here are only the differences: CUDA's library has
special functions of its own, complex numbers are a class, functions are marked as the device's.
"""

import re

import numpy as np

from ..codegen.source import has_complex
from ..codegen.text.helper_functions import HELPERS
from ..codegen.text.math_functions import LIBM
from ..codegen.text.scalars import Unsupported
from ..codegen.text.system import SPECIAL_NAMES
from ..gpu_codegen.dialects import Dialect, KernelFunctions
from .prelude import prelude

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
# what helpers' templates say in GNU C, and how C++ says it
PARTS = re.compile(r"\b__(real|imag)__ (\w+)")
MEMBERS = {"real": "re", "imag": "im"}


class CudaFunctions(KernelFunctions):
    """The words that one CUDA source uses; `text` is their definitions."""

    adds = False  # whether threads add to the same memory

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

    def type(self, name):
        return CUDA.type(name)

    def in_dialect(self, template):
        text = PARTS.sub(lambda m: f"{m.group(2)}.{MEMBERS[m.group(1)]}", super().in_dialect(template))
        return text.replace("static", "static __device__", 1)

    def prelude(self, equations):
        return prelude(has_complex(equations), self.adds)

    def added(self, dtype):
        self.adds = True
        return "add_at"

    def raised(self, dtype):
        return "atomicMax"


CUDA = Dialect(
    name="CUDA C++",
    functions=CudaFunctions,
    kernel='extern "C" __global__ void',
    memory="{type} *{name}",
    constant="const {type} *__restrict__ {name}",
    shared="__shared__ double shared[{}];",
    thread="threadIdx.x",
    threads="blockDim.x",
    block="blockIdx.x",
    block_y="blockIdx.y",
    blocks="gridDim.x",
    wait="__syncthreads()",
    arrays=200,  # whose pointers take less than the four kilobytes that arguments may
    types={"double complex": "c16", "float complex": "c8"},
)
