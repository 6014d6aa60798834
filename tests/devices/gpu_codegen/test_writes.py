"""Writes at places that may repeat: sums by atomics, and of several values the last one."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.bodies import Graph
from polyad.devices.codegen.loops.nests import Nest, Store
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.kernels import Names
from polyad.devices.gpu_codegen.source import KernelSource
from polyad.devices.gpu_codegen.writes import writes
from polyad.dsl.avals import Aval
from polyad.dsl.ir.programs import Var

pytestmark = pytest.mark.quick

I = np.array([0, 2, 2, -1])


def source(f, *xs):
    program = pa.make_ir(f)(*xs)
    return KernelSource(CUDA, program.equations, program.inputs, program.outputs)


def kernels(made):
    """The text of each kernel."""
    return made.text.split('extern "C" __global__ void ')[1:]


@pytest.mark.parametrize("dtype", "bhilBHILfdFD")
def test_sums_are_atomic(dtype):
    made = source(lambda x, i: pa.at(x, i).add(x[:4]), np.ones(5, dtype), I)
    *_, last = kernels(made)
    assert last.count("add_at(&y0[") == 1 and "atomicMax" not in made.text
    assert "atomicAdd(" in made.text  # what adds comes with the source


def test_sums_of_truth_values_need_no_atomics():
    """All who write there write the same."""
    made = source(lambda x, i: pa.at(x, i).add(x[:4]), np.ones(5, bool), I)
    *_, last = kernels(made)
    assert "add_at" not in made.text and "] = 1;" in last and "if (" in last


@pytest.mark.parametrize("dtype", "?bdD")
def test_the_last_value_stays(dtype):
    """A first kernel notes the last writer of each place, in memory that begins with zeros; a second one lets it write."""
    made = source(lambda x, i: pa.at(x, i).set(x[:4]), np.ones(5, dtype), I)
    copy, note, write = made.launches
    ((name, order, size, zeros),) = note.fresh
    assert order == np.uint32 and size == 5 and zeros and name in write.arguments and write.done == [name] and not copy.fresh
    texts = kernels(made)
    assert f"atomicMax(&{name}[" in texts[1] and "(uint32_t)q + 1" in texts[1] and "y0" not in note.arguments
    assert "] == (uint32_t)q + 1) y0[" in texts[2].replace("if (", "").replace("((", "(")


@pytest.mark.parametrize("total, order", [(2**32 - 2, np.uint32), (2**32 - 1, np.uint64)])
def test_many_writers_are_counted_in_wide_numbers(total, order):
    """They are numbered from 1."""
    y, graph, names = Var(Aval((5,), np.dtype(float))), Graph(CUDA.functions()), Names()
    graph.buffers[y] = Buffer("y0", y.aval.dtype, y.aval.shape)
    nest = Nest((total,), [Store(y, 2.0, lambda body, idx: (Index(1),))], sequential=True)
    first, second = writes(nest, graph, names)
    assert names.dtypes == {"w0": order} and names.sizes == {"w0": 5} and first.cleared == ("w0",) and not second.cleared
    assert first.wide and second.wide and first.written == {"w0"} and second.written == {"y0"}


def test_nothing_is_written():
    assert len(source(lambda x, i: pa.at(x, i).set(2.0), np.ones(5), I[:0]).launches) == 1  # the copy alone
    assert len(source(lambda x, i: pa.at(x, i).add(2.0), np.ones(5), I[:0]).launches) == 1


def test_places_in_steps_are_no_writes_of_this_kind():
    made = source(lambda x: pa.at(x, (slice(1, 4),)).set(2.0), np.ones(5))
    assert "atomic" not in made.text and not [fresh for k in made.launches for fresh in k.fresh]
