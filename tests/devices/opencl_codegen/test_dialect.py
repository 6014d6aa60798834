"""The words of OpenCL C, and what cannot be said in it."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.plan import lowerable, trial
from polyad.devices.codegen.text.scalars import Unsupported
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.source import KernelSource
from polyad.devices.opencl_codegen.dialect import BASE, EXTENDED, OPENCL

X, I, Z = np.linspace(-2, 2, 12).reshape(3, 4), np.array([0, 2, -1, 0]), np.ones(3, complex)
PROGRAMS = {
    "elementwise": (lambda x: [pa.sin(x) * pa.exp2(x), pa.floor(x), x > 0, pa.logaddexp(x, 1.0)], (X,)),
    "single precision": (lambda x: pa.arctan2(x, x + 1), (X.astype("f"),)),
    "whole numbers": (lambda i: [i * 5 // 3, pa.gcd(i, i + 6), i << 2], (I.astype(np.uint64),)),
    "broadcasting": (lambda x, y: x * y[:, None] + x[0], (X, X[:, 0])),
    "index maps": (lambda x: pa.concatenate([pa.transpose(x)[::-2], pa.reshape(x, shape=(4, 3))[:1]], axis=0), (X,)),
    "reductions": (lambda x: [pa.sum(x), pa.max(x, axis=0), pa.prod(x, axis=1), pa.any(x > 1)], (X,)),
    "long reductions": (lambda x: [pa.sum(x), pa.sum(x, axis=1)], (np.ones((3, 40_000)),)),
    "rows": (lambda x: pa.softmax(pa.tanh(x), axis=-1), (np.ones((200, 300)),)),
    "gradient": (pa.grad(lambda x: pa.sum(pa.softmax(x[:, 1:], axis=-1) ** 2)), (X,)),
    "gather": (lambda x, i: x[:, i], (X, I)),
    "sums at places": (lambda x, i: pa.at(x, i).add(1.0), (X, I % 3)),
    "values at places": (lambda x, i: pa.at(x, i).set(X[0]), (X, I % 3)),
}
each_program = pytest.mark.parametrize("name", PROGRAMS)


def equations(f, *xs):
    return pa.make_ir(f)(*xs).equations


def source(dialect, f, *xs):
    program = pa.make_ir(f)(*xs)
    outputs = [v for e in program.equations for v in e.outputs if v in program.outputs]
    return KernelSource(dialect, program.equations, [*program.inputs, *dict(program.constants)], outputs)


@each_program
def test_kernels_are_those_of_cuda(name):
    """The same launches, and nothing that is no OpenCL."""
    f, xs = PROGRAMS[name]
    made, cuda = source(OPENCL, f, *xs), source(CUDA, f, *xs)
    assert made.launches and made.launches == cuda.launches
    assert made.text.count("__kernel") == cuda.text.count("__global__") == len(made.launches)
    cudas = ("__global__", "__device__", "__shared__", "__syncthreads", "Idx", "blockDim", "gridDim", "template", "atomicAdd",
             "atomicMax", "long long", "LL", "__builtin", "extern", "__restrict__")  # fmt: skip
    assert not [word for word in cudas if word in made.text]
    assert made.text.startswith("#pragma OPENCL FP_CONTRACT OFF\n")  # products and sums are rounded one by one


def test_functions_have_one_type():
    """The library's are of all: an argument of another type would choose another one."""
    words = OPENCL.functions()
    assert [words.word(name, dtype) for name, dtype in (("atan2", "f"), ("lgamma", "d"), ("sign", "d"))] == [
        "atan2_f4", "lgamma_f8", "sign_f8",
    ]  # fmt: skip
    assert words.text.splitlines() == [
        "static inline double lgamma_f8(double x0) { return lgamma(x0); }",
        "static inline float atan2_f4(float x0, float x1) { return atan2(x0, x1); }",
        "static inline double sign_f8(double a) { return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }",
    ]


@pytest.mark.parametrize(
    ("f", "xs", "said"),
    [
        (lambda z: z * z, (Z,), "no complex numbers in OpenCL C"),
        (lambda z: pa.abs(z), (Z.astype("F"),), "no complex numbers in OpenCL C"),
        (lambda x: x * 2j, (X,), "no complex numbers in OpenCL C"),
        (lambda x: pa.erfinv(x), (X,), "no erfinv in OpenCL C"),
        (lambda x: pa.i0(x), (X,), "no i0 in OpenCL C"),
        (lambda x: x + x, (X.astype("e"),), "no C type for float16"),
        (lambda x: pa.argsort(x), (X,), "C code of the host"),
        (lambda x: pa.cumsum(x, axis=0), (X,), "statements of the host's own"),
    ],
)  # fmt: skip
def test_what_cannot_be_said(f, xs, said):
    for e in equations(f, *xs):
        assert not lowerable(e, OPENCL.functions)
        with pytest.raises(Unsupported, match=said):
            trial(e, OPENCL.functions)


def test_a_source_of_complex_numbers():
    """Also where nobody asked before."""
    with pytest.raises(Unsupported, match="no complex numbers in OpenCL C"):
        source(OPENCL, lambda z: z + 1, Z)
    with pytest.raises(Unsupported, match="no sums of complex128 by several threads in OpenCL C"):
        OPENCL.functions().added(np.dtype("D"))


def test_extensions():
    """A source asks for those it needs, and for no others."""
    asked = lambda f, *xs: [line.split()[-1] for line in source(OPENCL, f, *xs).text.splitlines() if "#ifndef" in line]
    x, i = X.astype("f"), I.astype("i")
    assert asked(lambda x: pa.sin(x) + 1, x) == []
    assert asked(lambda x: pa.sin(x) + 1, X) == ["cl_khr_fp64"]
    add = lambda x, i: pa.at(x, i).add(x[:1])
    assert asked(add, x, i % 3) == asked(add, i, i) == []
    assert asked(add, X, i % 3) == ["cl_khr_fp64", BASE]
    assert asked(add, I, i) == [BASE]
    words = OPENCL.functions()
    assert words.raised(np.dtype(np.uint32)) == "atomic_max" and words.extensions == {}
    assert words.raised(np.dtype(np.uint64)) == "atom_max" and set(words.extensions) == {EXTENDED}
