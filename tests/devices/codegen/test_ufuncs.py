"""Ufuncs of C expressions: threads share one, a trace compiles none."""

import threading

import numpy as np

import polyad as pa

SAME_NAME = """
import polyad as pa

@pa.elementwise(partials=[lambda y, x: pa.sin(x)], c="{c}")
def versine(x, /):
    "Another one."
"""


def declared(c, name="versine"):
    space = {"__name__": "somewhere"}
    exec(SAME_NAME.replace("{c}", c).replace("def versine", f"def {name}"), space)
    return space[name]


def test_threads_share_one():
    op, found = declared("(11 - cos({0}))"), []
    start = threading.Barrier(4)

    def run():
        start.wait()
        found.append(op(np.zeros(3)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(found, np.full((4, 3), 10.0))


def test_numpy_has_the_interface_that_ufuncs_are_made_by():
    from polyad.devices.codegen.ufuncs import numpy_function

    assert numpy_function(0) == id(np.ufunc)


def test_a_trace_compiles_nothing(monkeypatch):
    """The dtype of a result is known without a kernel: programs are traced where there is no compiler, for other devices."""
    from polyad.devices.codegen import ufuncs

    monkeypatch.setattr(ufuncs, "ufunc", None)
    op = declared("(21 - cos({0}))")
    for dtype, wanted in (("f8", "f8"), ("f4", "f4"), ("i4", "f8"), ("i1", "f2"), ("F", "F")):
        assert pa.make_ir(op)(np.ones(2, dtype)).outputs[0].aval == pa.Aval((2,), np.dtype(wanted))
    assert pa.make_ir(lambda x: op(x) + op(x * 2.0))(np.float32(1)).outputs[0].aval.dtype == np.float32
