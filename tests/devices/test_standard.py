"""`device=`, `x.device` and `x.to_device` as the array API standard has them: names of devices go in and out."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices import Device
from polyad.devices.device import HOST
from polyad.devices.standard import standard_name
from polyad.dispatch.device_kinds import DeviceKind
from polyad.dsl.array_libraries import creator

pytestmark = pytest.mark.quick


def followed(f):
    """f of followed values of each kind."""
    x, seen = np.ones((2, 3)), []
    pa.grad(lambda u: seen.append(f(u)) or pa.sum(u))(x)
    pa.vmap(lambda u: seen.append(f(u)) or u)(x)
    pa.make_ir(lambda u: seen.append(f(u)) or u)(x)
    pa.vmap(pa.grad(lambda u: seen.append(f(u)) or pa.sum(u)))(x)
    return seen


def test_the_host_is_called_as_numpy_calls_it():
    assert standard_name(HOST) == standard_name(Device("cpu:0")) == np.ones(1).device == "cpu"
    other = Device(pa.CUDA, 1)
    assert standard_name(other) is other


def test_what_arrays_say_is_taken():
    assert followed(lambda u: u.device) == ["cpu"] * 4 and pa.Diagonal(np.ones(2)).device == "cpu"
    assert followed(lambda u: pa.ones(2, device=u.device).shape) == [(2,)] * 4
    assert followed(lambda u: u.to_device(u.device).shape == u.to_device("cpu:0").shape == u.shape) == [True] * 4


def test_streams_are_left_to_libraries():
    with pytest.raises(pa.DeviceError, match=r"to_device: stream=0 is not offered; make the stream current in the array's"):
        pa.Diagonal(np.ones(2)).to_device("cpu", stream=0)
    assert type(pa.Diagonal(np.ones(2)).to_device("cpu", stream=None)) is pa.Diagonal


def test_where_the_memory_lies():
    """As DLPack numbers it; numbers lie nowhere, and count as on the host."""
    assert followed(lambda u: u.__dlpack_device__()) == [np.ones(1).__dlpack_device__()] * 4
    seen = []
    pa.grad(lambda u: seen.append(u.__dlpack_device__()) or u)(2.0)
    assert seen == [(1, 0)]


def test_devices_that_are_not_here():
    with pytest.raises(pa.devices.DeviceError, match=r"no device cpu:7 here; available are cpu:0"):
        pa.zeros(2, device="cpu:7")
    with pytest.raises(pa.devices.DeviceError):
        pa.zeros(2, device="moon")


def test_a_device_whose_library_is_not_known():
    """It can be used, but nobody has said what creates arrays there."""

    class Moon(DeviceKind):
        """Far away."""

    with pytest.raises(pa.DeviceMismatchError, match=r"nothing is known about moon:0; .*array_libraries\.creator\.method"):
        creator(Device(Moon, 0))


def test_the_namespace_lists_devices():
    info = pa.__array_namespace_info__()
    assert info.devices()[0] == info.default_device() == "cpu"
    assert all(pa.zeros(1, device=name).shape == (1,) for name in info.devices() if name == "cpu")
