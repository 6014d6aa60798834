"""OpenCL C 1.2 as a dialect of kernels, and the words of card expressions in it.

It is C with address spaces: no complex numbers, no templates, no functions of one name for several types but the library's own.
Numbers of 64 bits end in L, for `long long` may have 128. Double precision, and atomics of 64 bits, are extensions that a
device may lack; a source that needs them says so where it is compiled.
"""

import numpy as np

from ..codegen.source import vars_of
from ..codegen.text.math_functions import LIBM
from ..codegen.text.scalars import Unsupported, code, ctype
from ..codegen.text.system import SPECIAL_NAMES
from ..gpu_codegen.dialects import Dialect, KernelFunctions

# for compiling: division and square roots are rounded once, where the device can do so
OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")
HEAD = """\
#pragma OPENCL FP_CONTRACT OFF
#define int8_t char
#define int16_t short
#define int32_t int
#define int64_t long
#define uint8_t uchar
#define uint16_t ushort
#define uint32_t uint
#define uint64_t ulong
#define INT64_MIN LONG_MIN
#define _Bool bool
"""
EXTENSION = """\
#ifndef {0}
#error "{1}: this device has no {0}"
#endif
#pragma OPENCL EXTENSION {0} : enable
"""
# where other threads add too: by the library's function, by exchange of the whole, or of the word around one or two bytes
ADDED = "static inline void NAME(volatile __global TYPE *p, TYPE v) { FUNCTION(p, v); }"
EXCHANGED = """\
static inline void NAME(volatile __global TYPE *p, TYPE v) {
  volatile __global WORD *word = (volatile __global WORD *)p;
  WORD seen = *word, before;
  do {
    before = seen;
    seen = FUNCTION(word, before, as_WORD(as_TYPE(before) + v));
  } while (seen != before);
}"""
WITHIN = """\
static inline void NAME(__global TYPE *p, TYPE v) {
  uint shift = (uint)((size_t)p & 3) * 8, mask = (sizeof(TYPE) == 1 ? 255u : 65535u) << shift;
  volatile __global uint *word = (volatile __global uint *)((size_t)p & ~(size_t)3);
  uint seen = *word, before;
  do {
    before = seen;
    seen = atomic_cmpxchg(word, before, (before & ~mask) | (((((before & mask) >> shift) + (uint)v) << shift) & mask));
  } while (seen != before);
}"""
BASE, EXTENDED = "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"


class OpenCLFunctions(KernelFunctions):
    """The words that one OpenCL source uses; `text` is their definitions."""

    def __init__(self):
        super().__init__()
        self.extensions = {}  # name -> what it is for

    def word(self, name, dtype):
        """The OpenCL function that a word is in a dtype. Raises Unsupported."""
        if np.dtype(dtype).kind == "f" and name in SPECIAL_NAMES:
            if name not in LIBM:
                raise Unsupported(f"no {name} in {OPENCL.name}")
            return self._libm(name, "f" if np.dtype(dtype).char == "f" else "", LIBM[name])
        return super().word(name, dtype)

    def _libm(self, name, suffix, arity):
        """A function of one type around the library's of all types, so that arguments are converted as in C."""
        real, full = ("float", f"{name}_f4") if suffix else ("double", f"{name}_f8")
        given, passed = [", ".join(f"{before}x{k}" for k in range(arity)) for before in (f"{real} ", "")]
        self.declared[full] = f"static inline {real} {full}({given}) {{ return {name}({passed}); }}"
        return full

    def type(self, name):
        return OPENCL.type(name)

    def prelude(self, equations):
        wanted = dict(self.extensions)
        if any(v.aval.dtype.char == "d" for e in equations for v in vars_of((*e.inputs, *e.outputs))):
            wanted["cl_khr_fp64"] = "double precision"
        return HEAD + "".join([EXTENSION.format(name, purpose) for name, purpose in sorted(wanted.items())])

    def added(self, dtype):
        kind, size = dtype.kind, dtype.itemsize
        word, cas = ("ulong", "atom_cmpxchg") if size == 8 else ("uint", "atomic_cmpxchg")
        if kind not in "iuf":
            raise Unsupported(f"no sums of {dtype} by several threads in {OPENCL.name}")
        if kind == "f":
            text = EXCHANGED.replace("WORD", word).replace("FUNCTION", cas)
        else:
            text = WITHIN if size < 4 else ADDED.replace("FUNCTION", "atom_add" if size == 8 else "atomic_add")
        if size == 8:
            self.extensions[BASE] = "atomics of 64 bits"
        name = f"add_at_{code(dtype)}"
        self.defined[name] = text.replace("NAME", name).replace("TYPE", ctype(dtype))
        return name

    def raised(self, dtype):
        if dtype.itemsize == 4:
            return "atomic_max"
        self.extensions[EXTENDED] = "atomics of 64 bits"
        return "atom_max"


OPENCL = Dialect(
    name="OpenCL C",
    functions=OpenCLFunctions,
    kernel="__kernel void",
    memory="__global {type} *{name}",
    constant="__global const {type} *restrict {name}",
    shared="__local long shared[{}];",
    space="__local ",
    thread="(uint)get_local_id(0)",
    threads="(uint)get_local_size(0)",
    block="(uint)get_group_id(0)",
    block_y="(uint)get_group_id(1)",
    blocks="(uint)get_num_groups(0)",
    wait="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",  # what a row keeps may be in either
    arrays=100,  # whose pointers take less than the kilobyte that arguments may
    long="L",
    reserved=frozenset({"half"}),
)
