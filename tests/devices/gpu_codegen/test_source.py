"""Sources of kernels: launches in order, and temporaries that are there from their first use to their last."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyad as pa
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.source import KernelSource, launches
from polyad.dsl.ir.pass_selection import PASSES, using

pytestmark = pytest.mark.quick

D = np.dtype("d")


def kernel(*buffers, cleared=()):
    return SimpleNamespace(buffers=list(buffers), cleared=cleared, blocks=(3,), threads=64)


def lives(made):
    """For each launch what it is the first to use and the last to use."""
    return [([name for name, *_ in k.fresh], k.done) for k in made]


KERNELS = [kernel("x0", "t0"), kernel("t0", "t1", cleared=("t1",)), kernel("t1", "y0"), kernel("t2", "y1")]
SIZES = {"t0": 5, "t1": 6, "t2": 7}


def test_temporaries_live_from_the_first_use_to_the_last():
    made = launches(KERNELS, dict.fromkeys(("x0", "y0", "y1", *SIZES), D), SIZES)
    assert lives(made) == [(["t0"], []), (["t1"], ["t0"]), ([], ["t1"]), (["t2"], ["t2"])]
    assert made[1].fresh == [("t1", D, 6, True)] and made[0].fresh == [("t0", D, 5, False)]  # zeros where they are asked for
    assert [k.name for k in made] == ["k0", "k1", "k2", "k3"] and made[0].arguments == ["x0", "t0"]
    assert {(k.blocks, k.threads) for k in made} == {((3,), 64)}


def test_without_reuse_they_stay():
    with using(tuple(p for p in PASSES if p != "buffer_reuse")):
        made = launches(KERNELS, dict.fromkeys(("x0", "y0", "y1", *SIZES), D), SIZES)
    assert [done for _, done in lives(made)] == [[]] * 4 and sum(len(fresh) for fresh, _ in lives(made)) == 3


def source(f, *xs):
    program = pa.make_ir(f)(*xs)
    return KernelSource(CUDA, program.equations, program.inputs, program.outputs)


def test_no_kernels():
    made = source(lambda x: x, np.ones(3))
    assert made.launches == [] and "__global__" not in made.text


def test_kernels_are_named_in_order_and_given_what_they_use():
    made = source(lambda x, y: (pa.sum(x, axis=0), y * 2.0), np.ones((600, 700)), np.ones(3))
    assert [k.name for k in made.launches] == [f"k{i}" for i in range(len(made.launches))]
    for k in made.launches:
        head = made.text.partition(f" {k.name}(")[2].partition(")")[0]
        assert [word.split()[-1].lstrip("*") for word in head.split(",")] == k.arguments


def test_numbers_stand_in_the_text():
    program = pa.make_ir(lambda x, s: x * s)(np.ones(3), 2.0)
    x, s = program.inputs
    made = KernelSource(CUDA, program.equations, [x], program.outputs, {s: np.float64(7.0)})
    assert "* 7.0" in made.text and set(made.launches[0].arguments) == {"x0", "y0"}


def test_without_fusion_each_operation_is_a_kernel():
    f, x = (lambda x: pa.exp(pa.sin(x)) + 1.0), np.ones(1000)
    assert len(source(f, x).launches) == 1
    with using(()):
        assert len(source(f, x).launches) == 3
