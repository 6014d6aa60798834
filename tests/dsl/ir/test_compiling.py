"""Compiling programs for a device: with the passes asked for, and one operation after the other where it has no compiler."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.compiling import compiling
from polyad.dsl.ir.pass_selection import chosen, using

X = np.array([1.0, 2.0, 3.0])
PROGRAM = pa.make_ir(lambda x: {"sum": pa.sum(x * x), "same": x, "fixed": np.arange(2.0)})(X)


def test_a_device_without_a_compiler_runs_the_operations():
    """With the same results, of which none is somebody else's."""
    run = pa.compile_program(PROGRAM, object())
    assert not hasattr(run, "sources")
    fixed, same, total = run(X)
    assert total == 14.0 and same.tolist() == X.tolist() and fixed.tolist() == [0.0, 1.0]


def test_flat_inputs_and_results_in_the_order_of_leaves():
    program = pa.make_ir(lambda d, y: (d["b"] - y, d["a"]))({"b": 2.0, "a": 1.0}, 5.0)
    assert [float(v) for v in pa.compile_program(program, object())(1.0, 2.0, 5.0)] == [-3.0, 1.0]


def test_by_its_own_passes_unless_others_are_asked_for():
    with using(("simplify",)):
        program = pa.make_ir(pa.sin)(1.0)
    for asked, right in ((None, ("simplify",)), (("fusion", "dead_code"), ("fusion", "dead_code")), ((), ())):
        with compiling(program, asked):
            assert set(chosen()) == set(right)
    before = chosen()
    with pytest.raises(pa.StructureError, match=r"compile_program: .*passes is 'fusoin'; give a tuple of names among"):
        compiling(program, ("fusoin",))
    assert chosen() == before


def test_devices_by_name():
    with pytest.raises(pa.DeviceError, match="nowhere"):
        pa.compile_program(PROGRAM, "nowhere")
