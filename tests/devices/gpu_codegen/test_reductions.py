"""Reductions: how a block's threads share them, and when many blocks share one result."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.loops import Loop
from polyad.devices.codegen.text.statements import Do
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.kernels import BLOCKS, THREADS
from polyad.devices.gpu_codegen.printer import KernelPrinter
from polyad.devices.gpu_codegen.reductions import LANES, LONG, SPLIT, Shape, above
from polyad.devices.gpu_codegen.source import KernelSource

pytestmark = pytest.mark.quick


def test_powers_of_two():
    assert [above(n) for n in (0, 1, 2, 3, 4, 5, 255, 256, 257)] == [1, 1, 2, 4, 4, 8, 256, 256, 512]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("threads", [32, THREADS])
@pytest.mark.parametrize("results", [1, 2, 31, 32, 33, 5000])
def test_threads_of_a_block(last, results, threads):
    """No more than there are, powers of two, so that they put their parts together by halves; neighbours read neighbours."""
    for each in (1, 2, 7, 255, 256, 257, 5000):
        shape = Shape([Loop("i0", results, False)], [Loop("i1", each, True)], last, threads)
        assert shape.threads <= threads and shape.lanes == above(shape.lanes) and shape.turns == above(shape.turns)
        assert shape.lanes < 2 * results + 1 and shape.turns < 2 * each + 1
        assert (
            shape.threads == threads or (above(results) == shape.lanes or shape.lanes == LANES) and above(each) == shape.turns
        )
        text = KernelPrinter(CUDA).lines([*shape.places, Do(shape.takes_part)])
        fast = "turn" if last else "lane"
        assert any(line.startswith(f"const int {fast} = threadIdx.x % ") for line in text)
        # each thread has its own pair, those that take part fill the block
        n = shape.turns if last else shape.lanes
        pairs = {(t % n, t // n) for t in range(threads) if t // n < (shape.lanes if last else shape.turns)}
        assert (
            len(pairs) == shape.threads
            and text[-1] == f"{'lane' if last else 'turn'} < {shape.lanes if last else shape.turns};"
        )


def launches(f, *xs):
    program = pa.make_ir(f)(*xs)
    return KernelSource(CUDA, program.equations, program.inputs, program.outputs).launches


def whole(n):
    return launches(lambda x: pa.sum(x), np.broadcast_to(np.float32(1), (n,)))


def test_long_reductions_of_few_results_are_split():
    """From where each of two blocks' threads has enough to do; then at most so many blocks for each result, in two kernels."""
    bound = 2 * THREADS * LONG
    assert [len(whole(n)) for n in (bound - 1, bound)] == [1, 2]
    first, second = whole(bound)
    assert first.blocks == (1, 2) and first.threads == THREADS and second.blocks == (1,)
    ((name, dtype, size, zeros),) = first.fresh
    assert size == 2 and dtype == np.float32 and not zeros and name in second.arguments and second.done == [name]
    assert whole(10**8)[0].blocks == (1, SPLIT)
    many = launches(lambda x: pa.sum(x, axis=1), np.broadcast_to(1.0, (SPLIT, bound)))
    assert [k.blocks for k in many] == [(SPLIT,)]  # there are enough results for all blocks


def test_results_that_neighbouring_threads_share():
    x = np.broadcast_to(1.0, (300, 100_000))
    (first,) = launches(lambda x: pa.sum(x, axis=0), x)
    assert first.blocks == (min(-(-100_000 // LANES), BLOCKS),) and first.threads == THREADS


def test_nothing_to_reduce():
    assert launches(lambda x: pa.sum(x, axis=0), np.ones((3, 0))) == []
    (only,) = launches(lambda x: pa.sum(x, axis=1), np.ones((3, 0)))  # results of no element are written, too
    assert only.threads >= 1 and "y0" in only.arguments


def test_two_sums_of_one_pass_share_the_memory_of_a_block():
    program = pa.make_ir(lambda x: (pa.sum(x, axis=1), pa.max(x, axis=1), pa.any(x > 0, axis=1)))(np.ones((3, 5000)))
    made = KernelSource(CUDA, program.equations, program.inputs, program.outputs)
    # the widest of them counts: doubles
    assert len(made.launches) == 1 and made.text.count("__shared__") == 1 and f"shared[{THREADS}]" in made.text
