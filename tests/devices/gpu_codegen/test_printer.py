"""The text of what kernels have beside C's statements, in each dialect."""

import dataclasses
import itertools

import numpy as np
import pytest

from polyad.devices.codegen.text.expressions import Access, Name, Type, c
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.scalars import literal
from polyad.devices.codegen.text.statements import Assign, Block, Do, Local, Shared, count
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen import dialects
from polyad.devices.gpu_codegen.dialects import BLOCK, BLOCK_Y, BLOCKS_IN_GRID, THREAD, THREADS_IN_BLOCK, WAIT
from polyad.devices.gpu_codegen.kernels import Kernel
from polyad.devices.gpu_codegen.printer import KernelPrinter
from polyad.devices.opencl_codegen.dialect import OPENCL

PLACE = c("{} * (I){} + {}", BLOCK, THREADS_IN_BLOCK, THREAD)


@pytest.mark.parametrize(
    ("statement", "cuda", "opencl"),
    [
        (Local("I", "q", PLACE), ["I q = blockIdx.x * (I)blockDim.x + threadIdx.x;"],
         ["I q = (uint)get_group_id(0) * (I)(uint)get_local_size(0) + (uint)get_local_id(0);"]),
        (Do(c("f({}, {})", BLOCK_Y, BLOCKS_IN_GRID)), ["f(blockIdx.y, gridDim.x);"],
         ["f((uint)get_group_id(1), (uint)get_num_groups(0));"]),
        (Do(WAIT), ["__syncthreads();"], ["barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"]),
        (Shared("float", "s"), ["float *s = (float *)shared;"], ["__local float *s = (__local float *)shared;"]),
        (Shared("double", "t0", 64), ["double *t0 = (double *)((char *)shared + 64);"],
         ["__local double *t0 = (__local double *)((__local char *)shared + 64);"]),
        (Local("int64_t", "v", literal(-5, np.int64)), ["int64_t v = (-5LL);"], ["int64_t v = (-5L);"]),
        (Local("uint64_t", "v", c("{} * {}", Name("u"), literal(5, np.uint64))), ["uint64_t v = u * 5ULL;"],
         ["uint64_t v = u * 5UL;"]),
        (Block(c("for (int {0} = 8; {0}; {0} /= 2)", Name("half")), [Do("f()")], (("int", "half"),)),
         ["for (int half = 8; half; half /= 2) {", "f();", "}"],
         ["for (int half_ = 8; half_; half_ /= 2) {", "f();", "}"]),
        (count("i", 0, 9, [], simd=True, shared=""), *[["for (int64_t i = 0; i < 9; i++) {", "}"]] * 2),
    ],
)  # fmt: skip
def test_each_dialect(statement, cuda, opencl):
    assert KernelPrinter(CUDA).lines([statement]) == cuda
    assert KernelPrinter(OPENCL).lines([statement]) == opencl


def test_complex_numbers_in_cuda():
    value = c("({})({})", Type("float complex"), Name("v"))
    printed = KernelPrinter(CUDA).lines([Local("double complex *", "v", "0"), Local("double complex", "w", value)])
    assert printed == ["c16 *v = 0;", "c16 w = (c8)(v);"]


def test_kernels():
    x, y = [Access(Buffer(name, None, (9,)), Index(0, [("q", 1)])) for name in ("x0", "y0")]
    body = [Local("const I", "q", THREAD), Shared("double", "s"), Assign(y, c("{} + {}", x, Name("s")))]
    kernel = Kernel(body, (1,), 32, {"y0"}, shared=20)
    dtypes = {"x0": np.dtype("d"), "y0": np.dtype("?")}
    assert KernelPrinter(CUDA).kernel(kernel, "k0", dtypes).splitlines() == [
        'extern "C" __global__ void k0(uint8_t *y0, const double *__restrict__ x0) {', "typedef int I;",
        "__shared__ double shared[3];", "const I q = threadIdx.x;", "double *s = (double *)shared;", "y0[q] = x0[q] + s;",
        "}",
    ]  # fmt: skip
    wide = dataclasses.replace(kernel, wide=True, shared=0)
    assert KernelPrinter(OPENCL).kernel(wide, "k0", dtypes).splitlines()[:2] == [
        "__kernel void k0(__global uint8_t *y0, __global const double *restrict x0) {", "typedef int64_t I;",
    ]  # fmt: skip
    assert KernelPrinter(OPENCL).kernel(kernel, "k0", dtypes).splitlines()[2] == "__local long shared[3];"


def test_dialects_say_every_word():
    words = [word.field for word in vars(dialects).values() if type(word) is dialects.Word]
    assert len(words) == 6
    for word, dialect in itertools.product(words, (CUDA, OPENCL)):
        assert type(getattr(dialect, word)) is str
