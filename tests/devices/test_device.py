"""Devices by name, where arrays lie, and the errors for what is not there."""

import copy
import pickle

import numpy as np
import pytest

import polyad as pa
from polyad.devices import Device, DeviceError, device, device_of, memory, register_devices, synchronize, to_device
from polyad.dispatch import CPU, CUDA, DeviceKind

pytestmark = pytest.mark.quick


def test_a_device_is_its_name():
    d = Device("cuda:1")
    assert (d, d.kind, d.ordinal, str(d)) == ("cuda:1", CUDA, 1, "cuda:1")
    assert d == Device(CUDA, 1) and d != Device("cuda:0") and hash(d) == hash(Device(CUDA, 1))
    assert Device("cpu") == Device(CPU) == Device("CPU:0") == Device(Device("cpu")) == "cpu:0"
    assert type(d) is Device[CUDA] and isinstance(d, Device)
    for again in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert again == d and again.kind is CUDA and again.ordinal == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu:0", r"no kind of device 'gpu'; kinds are .*cpu, cuda"),
        ("cuda:one", r"'cuda:one' names no device; write a kind and a number, such as 'cpu:0'"),
        ("cuda:-1", "names no device"),
        ("", "no kind of device ''"),
    ],
)
def test_names_that_are_none(text, message):
    with pytest.raises(DeviceError, match=message):
        Device(text)


def test_the_host_comes_first_and_a_broken_driver_counts_as_none():
    class Broken(DeviceKind):
        pass

    def raise_(*args):
        raise RuntimeError("no driver")

    register_devices(Broken, raise_)
    assert pa.available_devices()[0] == "cpu:0" and "broken:0" not in pa.available_devices()
    for call in (
        lambda: to_device(np.ones(1), "broken"),
        lambda: device("broken").__enter__(),
        lambda: synchronize("broken"),
        lambda: memory("broken"),
    ):
        with pytest.raises(DeviceError, match=r"there is no device broken:0 here; available are cpu:0"):
            call()
    with pytest.raises(DeviceError, match="cpu:0 gives no account of its memory"):
        memory("cpu")
    synchronize()


def test_a_device_without_a_way_from_the_host():
    class Bare(DeviceKind):
        pass

    register_devices(Bare, lambda: 1)
    try:
        with pytest.raises(DeviceError, match=r"no way from the host to bare:0; add one with @polyad\.devices\.place\.method"):
            to_device(np.ones(1), "bare")
        with pytest.raises(pa.DeviceMismatchError, match=r"creator: nothing is known about .*creator\.method"):
            device("bare").__enter__()
    finally:
        register_devices(Bare, lambda: 0)


def test_device_of_what_holds_arrays():
    assert device_of(np.ones(2)) == device_of(2.0) == device_of(np.float32(1)) == "cpu:0"
    assert device_of(pa.Diagonal(np.ones(2))) == "cpu:0"
    found = []
    pa.grad(pa.vmap(lambda x: found.append(device_of(x)) or pa.sum(x), axis_size=1, in_axes=None, out_axes=None))(np.ones(2))
    pa.make_ir(lambda x: found.append(device_of(x)) or x)(np.ones(2))
    assert found == ["cpu:0", "cpu:0"]


def test_device_of_unknown_classes_names_the_registration():
    class Foreign:
        pass

    for x in (Foreign(), "text", None):
        with pytest.raises(pa.DeviceMismatchError, match=r"polyad\.register_kind .*polyad\.register_device_of"):
            device_of(x)
    with pytest.raises(pa.DeviceMismatchError, match="to_device|host_copy"):
        to_device(Foreign(), "cpu")
    pa.register_kind(Foreign, CUDA)
    assert device_of(Foreign()) == "cuda:0"


def test_to_device_on_the_host_is_the_identity():
    x = np.arange(3.0)
    assert to_device(x, "cpu") is x
    tree = to_device({"x": x, "n": 3, "none": None, "nested": [(x,)]}, Device(CPU, 0))
    assert tree["x"] is x and tree["n"] == 3 and tree["none"] is None and tree["nested"][0][0] is x
    np.testing.assert_allclose(pa.grad(lambda v: pa.sum(to_device(v * v, "cpu")))(x), 2 * x)
    assert isinstance(to_device(pa.Diagonal(x), "cpu"), pa.Diagonal)
    with pytest.raises(DeviceError):
        to_device(x, "cpu:1")


def test_the_context_nests_and_comes_back_after_errors():
    with pytest.raises(ZeroDivisionError), device("cpu") as d:
        assert d == "cpu:0"
        1 / 0
    again = device("cpu")
    with again, again:
        assert isinstance(pa.zeros(2), np.ndarray)


@pytest.mark.parametrize("name", ["cpu", "cpu:0", "CPU"])
def test_programs_are_compiled_for_a_device_by_name(name):
    program = pa.make_ir(lambda x: pa.sum(pa.sin(x)))(np.arange(3.0))
    run = pa.compile_program(program, name)
    assert run.sources == pa.compile_program(program, Device("cpu")).sources  # C, not operations one by one
    assert run(np.arange(3.0))[0] == pytest.approx(np.sum(np.sin(np.arange(3.0))))
    assert pa.devices.place(np.ones(2), name).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["gpux", "cpu:x", ""])
def test_text_that_names_no_device_is_refused(name):
    program = pa.make_ir(lambda x: pa.sin(x))(np.arange(3.0))
    with pytest.raises(DeviceError, match="no kind of device|names no device"):
        pa.compile_program(program, name)
    with pytest.raises(DeviceError, match="no kind of device|names no device"):
        pa.devices.place(np.ones(2), name)


def test_a_device_without_compiled_code_runs_programs_by_operations():
    class Slow(DeviceKind):
        pass

    program = pa.make_ir(lambda x: x + 1)(np.arange(3.0))
    assert pa.compile_program(program, Device(Slow))(np.arange(3.0))[0].tolist() == [1, 2, 3]
