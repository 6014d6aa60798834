"""Passes that share a block: rows of the right lengths, small programs as a whole, temporaries in shared memory."""

import dataclasses
import re

import numpy as np
import pytest

import polyad as pa
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.fusion import LONGEST, MANY, ROW_BYTES, SHORTEST, SMALL
from polyad.devices.gpu_codegen.source import KernelSource

pytestmark = pytest.mark.quick


def source(f, *xs):
    program = pa.make_ir(f)(*xs)
    return KernelSource(CUDA, program.equations, program.inputs, program.outputs)


def centred(x):
    return x - pa.mean(x, axis=1, keepdims=True)


def count(rows, length, f=centred):
    return len(source(f, np.broadcast_to(1.0, (rows, length))).launches)


@pytest.mark.parametrize("rows, length, one", [
    (2 * SMALL, SHORTEST - 1, False), (2 * SMALL, SHORTEST, True),  # rows that are worth a block
    (MANY - 1, LONGEST, True), (MANY - 1, LONGEST + 1, False), (MANY, LONGEST + 1, True),  # so many that they are at any
    (1, SMALL, True), (1, SMALL + 1, False), (SMALL // 8, 8, True), (SMALL // 8 + 1, 8, False),  # a single block for all
])  # fmt: skip
def test_rows_at_both_sides_of_each_bound(rows, length, one):
    assert (count(rows, length) == 1) == one


def test_what_waits_for_all_rows_is_another_kernel():
    x = np.broadcast_to(1.0, (300, 400))
    assert len(source(lambda x: pa.softmax(x, axis=1), x).launches) == 1
    assert len(source(lambda x: centred(x) / pa.max(x), x).launches) > 1


def test_what_only_a_row_reads_is_in_shared_memory():
    """As long as there is room; results of the program, and what others read, are not."""
    shared = lambda f, x: re.findall(r"double \*(t\d+) = \(double \*\)\(?\(?(?:char \*\))?shared", source(f, x).text)
    f = lambda x: (lambda e: e / pa.sum(e, axis=1, keepdims=True))(pa.exp(x - pa.max(x, axis=1, keepdims=True)))
    fits, beyond = (np.broadcast_to(1.0, (300, n)) for n in (ROW_BYTES // 8 - 8, ROW_BYTES // 8 + 8))
    assert len(shared(f, fits)) == len(shared(f, beyond)) + 1
    assert source(f, fits).launches[0].fresh == []
    ((name, _, size, _),) = source(f, beyond).launches[0].fresh
    assert size == beyond.size and name not in shared(f, beyond)


def test_kernels_take_no_more_arrays_than_the_dialect_allows():
    f = lambda *xs: [centred(x) for x in xs]
    program = pa.make_ir(f)(*[np.ones((4, 5))] * 6)
    made = lambda most: KernelSource(dataclasses.replace(CUDA, arrays=most), program.equations, program.inputs, program.outputs)
    assert len(made(200).launches) == 1
    for most in (5, 10):
        few = made(most)
        assert len(few.launches) > 1 and max(len(k.arguments) for k in few.launches) <= most


@pytest.mark.parametrize("rows, length, threads", [(1, 3, 32), (1, 33, 64), (MANY, 200, 256), (MANY, 5000, 256)])
def test_threads_of_a_row(rows, length, threads):
    (k,) = source(centred, np.broadcast_to(1.0, (rows, length))).launches
    assert k.threads == threads and k.blocks == (rows,)


def test_no_rows():
    assert source(centred, np.ones((0, 300))).launches == []
