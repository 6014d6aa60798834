"""Kernels of one pass: blocks and threads for each size, counters, places out of range."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.bodies import Graph
from polyad.devices.codegen.loops.loops import Loop
from polyad.devices.codegen.loops.nests import Nest, Store
from polyad.devices.codegen.text.expressions import Name, c
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.statements import Array, Assign, Do, Local
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.kernels import (
    BLOCKS,
    NARROW,
    THREADS,
    Kernel,
    KernelBody,
    Names,
    decoded,
    elementwise,
    grid,
    is_wide,
)  # fmt: skip
from polyad.devices.gpu_codegen.printer import KernelPrinter
from polyad.devices.gpu_codegen.source import KernelSource
from polyad.dsl.avals import Aval
from polyad.dsl.ir.programs import Var

pytestmark = pytest.mark.quick

lines = KernelPrinter(CUDA).lines


@pytest.mark.parametrize("total", [1, 2, 31, 32, 33, 255, 256, 257, 10_000, THREADS * BLOCKS, THREADS * BLOCKS + 1, 2**40])
def test_grids(total):
    """Whole warps, no more than it needs, at most a block's and a grid's; each element has a thread that comes to it."""
    (blocks,), threads = grid(total)
    assert threads in (32, 64, 128, 256) and (threads == 32 or threads < 2 * total) and 1 <= blocks <= BLOCKS
    assert blocks * threads >= total or blocks == BLOCKS
    assert (blocks - 1) * threads < total  # no block without work


@pytest.mark.parametrize("lengths", [(7,), (3, 4), (2, 3, 5), (1, 6)])
def test_counters_of_loops_from_one(lengths):
    """The statements, run by Python: each combination of counters once, the last one the fastest."""
    loops, seen = [Loop(f"i{k}", n, False) for k, n in enumerate(lengths)], []
    text = "\n".join(lines(decoded(loops, "q"))).replace("const I ", "").replace("I ", "").replace(";", "").replace("/=", "//=")
    for q in range(np.prod(lengths)):
        space = {"q": q}
        exec(text, space)
        seen.append(tuple(space[loop.name] for loop in loops))
    assert seen == list(np.ndindex(*lengths))
    assert decoded([], "q") == []


def test_buffers_are_those_that_are_not_its_own():
    x, y = Name("x0"), Name("y0")
    body = [
        Local("const I", "q", "0"),
        Array("double", "t", 3),
        Assign(y, c("{} + {}", x, Name("q"))),
        Do(c("{} + {}", Name("t"), x)),
    ]
    assert Kernel(body, (1,), 32, {"y0"}).buffers == ["y0", "x0"]


def nest(size, dtype="f"):
    x, y = (Var(Aval((size,), np.dtype(dtype))) for _ in range(2))
    graph = Graph(CUDA.functions())
    graph.buffers = {v: Buffer(name, v.aval.dtype, v.aval.shape) for v, name in ((x, "x0"), (y, "y0"))}
    return Nest((size,), [Store(y, x)]), graph


@pytest.mark.parametrize("size, wide", [(NARROW - 1, False), (NARROW, True), (NARROW + 1, True)])
def test_counters_of_large_arrays_are_wide(size, wide):
    (kernel,) = elementwise(*nest(size))
    assert kernel.wide == wide and kernel.written == {"y0"}
    few, graph = nest(3)
    body = KernelBody(graph)
    body.access(Buffer("x0", None, (size,)), (Index(2),))  # few elements of a large array
    assert is_wide(few, body) == wide


def test_no_iterations_no_kernel():
    assert elementwise(*nest(0)) == []
    program = pa.make_ir(lambda x: pa.sin(x))(np.ones((0, 3)))
    assert KernelSource(CUDA, program.equations, program.inputs, program.outputs).launches == []


@pytest.mark.parametrize("place", [0, 4, -1, -5, 5, 7, 12, -6, -11])
def test_places_out_of_range_wrap_around(place):
    """As CuPy's do: the statements, run by numbers; nobody could be told."""
    body = KernelBody(nest(3)[1])
    found = body.position(place, (), 5)
    text = "\n".join(lines(body.statements))
    assert (
        text.count("if (") == 2
        and found.names == ["v0"]
        and f"int64_t v0 = {place}" in text.replace("(", "").replace("LL", "").replace(")", "")
    )
    value = place
    if not 0 <= value < 5:
        value = int(np.fmod(value, 5))
        value += 5 * (value < 0)
    assert value == place % 5 and "v0 %= 5;" in text and "if (v0 < 0) v0 += 5;" in text


def test_names_of_memory_beside_the_values():
    names = Names()
    assert [names.new("p", np.dtype("d"), 7), names.new("w", np.dtype("u4"), 9)] == ["p0", "w1"]
    assert names.sizes == {"p0": 7, "w1": 9} and names.dtypes["w1"] == np.uint32
