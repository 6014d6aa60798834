"""Running kernels: arguments are checked, results made, temporaries given back as soon as nobody reads them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import polyad as pa
from polyad.devices.cuda_codegen.launch import OPTIONS, Runner, checked, device_number, taken
from polyad.devices.gpu_codegen.source import Launch
from polyad.dsl.avals import Aval

pytestmark = pytest.mark.quick

F3 = Aval((3,), np.dtype("f"))


@pytest.fixture
def on(cupy):
    """An array of the stand-in, on the current device or another one."""
    return lambda x, id=0: cupy.ndarray(np.asarray(x), id)


@pytest.mark.parametrize("x, said", [
    (np.ones(4, "f"), r"float32\[3\] was called with float32\[4\]"), (np.ones((1, 3), "f"), r"called with float32\[1, 3\]"),
    (np.ones(3), r"float32\[3\] was called with float64\[3\]; trace it again"), (np.ones(3, "i"), r"called with int32\[3\]"),
])  # fmt: skip
def test_arrays_of_other_kinds(cupy, on, x, said):
    with pytest.raises(TypeError, match=f"^a compiled program for .*{said}"):
        checked(cupy, on(x), F3)


def test_arrays_that_fit(cupy, on):
    x = on(np.ones(3, "f"))
    assert checked(cupy, x, F3) is x
    with pytest.raises(
        pa.DeviceMismatchError, match=r"for CUDA was called with an array on cpu; move it with polyad.to_device"
    ):
        checked(cupy, np.ones(3, "f"), F3)


@pytest.mark.parametrize("x, dtype, fits", [
    (2, "f", True), (2.5, "f", True), (2, "d", True), (2j, "D", True), (True, "i", True), (2.5, "i", False), (2j, "d", False),
    (np.float64(2), "f", False), (np.float32(2), "f", True), (np.array(2.0), "d", True), (np.array(2.0), "f", False),
])  # fmt: skip
def test_numbers(cupy, x, dtype, fits):
    """Python's are of any dtype that holds them, NumPy's of their own."""
    aval = Aval((), np.dtype(dtype))
    if fits:
        assert checked(cupy, x, aval) is x
    else:
        with pytest.raises(TypeError, match="trace it again"):
            checked(cupy, x, aval)


def test_the_device_is_that_of_the_arrays(cupy, on):
    assert device_number(cupy, [on(np.ones(3), 1), 2.0, on(np.ones(1), 1)], 0) == 1
    assert device_number(cupy, [2.0, np.float64(3)], 7) == 7
    with pytest.raises(pa.DeviceMismatchError, match=r"arrays on cuda:0, cuda:1; move them with polyad.to_device"):
        device_number(cupy, [on(np.ones(3), 1), on(np.ones(3), 0)], 0)


def test_values_as_kernels_take_them(cupy, on):
    x = on(np.arange(3.0, dtype="f"))
    assert taken(cupy, x, F3) is x
    y = taken(cupy, on(np.arange(3)), F3)
    assert y.dtype == np.float32 and y.get().tolist() == [0, 1, 2]
    back = taken(cupy, on(np.arange(6.0, dtype="f")[::-2]), F3)
    assert back.flags.c_contiguous and back.get().tolist() == [5, 3, 1]
    number = taken(cupy, 2, F3)
    assert isinstance(number, cupy.ndarray) and number.dtype == np.float32 and number.get().tolist() == [2, 2, 2]


@pytest.fixture
def library():
    """In the place of CuPy: arrays are names, and what happens is told in order."""
    told = []

    class Module:
        def __init__(self, code, options):
            told.append(("compile", code, options))

        def get_function(self, name):
            return lambda blocks, threads, arguments: told.append((name, blocks, threads, [str(a) for a in arguments]))

    make = lambda kind: lambda size, dtype: told.append((kind, size)) or f"{kind}{size}"
    return SimpleNamespace(RawModule=Module, empty=make("empty"), zeros=make("zeros")), told


def test_launches_in_order(library, monkeypatch):
    fake, told = library
    monkeypatch.setitem(sys.modules, "cupy", fake)
    d = np.dtype("d")
    launches = [
        Launch("k0", (3,), 64, ["x0", "t0"], [("t0", d, 5, False)], []),
        Launch("k1", (2, 4), 32, ["t0", "w0", "y0"], [("w0", d, 7, True)], ["t0", "w0"]),
    ]
    out = SimpleNamespace(aval=Aval((2, 3), d))
    run = Runner(SimpleNamespace(launches=launches, outputs=[out], text="code"))
    assert run("x") == ["empty(2, 3)"] and run("z") == ["empty(2, 3)"]
    assert told.count(("compile", "code", OPTIONS)) == 1  # for all calls
    first = [("empty", (2, 3)), ("empty", 5), ("k0", (3,), (64,), ["x", "empty5"]), ("zeros", 7),
             ("k1", (2, 4), (32,), ["empty5", "zeros7", "empty(2, 3)"])]  # fmt: skip
    assert [t for t in told if t[0] != "compile"][:5] == first
    again = Runner(
        SimpleNamespace(launches=launches[:1] + [Launch("k2", (1,), 32, ["t0"], [], ["t0"])] * 2, outputs=[], text="")
    )
    with pytest.raises(KeyError, match="t0"):  # it was given back
        again("x")


def test_nothing_to_launch(library, monkeypatch):
    fake, told = library
    monkeypatch.setitem(sys.modules, "cupy", fake)
    assert Runner(SimpleNamespace(launches=[], outputs=[], text="code"))() == [] and told == []


def test_products_are_rounded():
    assert OPTIONS == ("--fmad=false",)
