"""CuPy's arrays on their way, on stand-ins: pinned memory, streams, and NCCL. tests/parallel/gpu has them between ranks."""

from types import SimpleNamespace

import device_arrays
import numpy as np
import pytest

import polyad as pa
from polyad.devices.carriage import carriage_of
from polyad.devices.cuda_carriage import CudaCarriage, NcclCommunicator, StreamRequest


@pytest.fixture
def carriage(monkeypatch):
    monkeypatch.setattr(device_arrays, "library", device_arrays.make("bus", with_nccl=True))
    return CudaCarriage(device_arrays.library, 0)


def test_cupys_arrays_have_one_of_their_device(cupy):
    pa.sin(cupy.asarray([1.0]))
    first = carriage_of(cupy.asarray([1.0]))
    with cupy.cuda.Device(1):
        x = cupy.asarray([1.0, 2.0])
    second = carriage_of(x)
    assert (first.ordinal, second.ordinal) == (0, 1) and carriage_of(x) is second and second.on_device
    back = second.like(np.array([3.0]), x)
    assert type(back) is cupy.ndarray and back.device.id == 1 and back.get() == 3.0


def test_the_host_has_pinned_copies(carriage):
    for values in (np.arange(6.0).reshape(2, 3), np.float32(2), np.zeros((0, 3)), np.array([True, False])):
        x = carriage.library.asarray(values)
        carriage.library.done.clear()
        a = carriage.host(x)
        np.testing.assert_array_equal(a, values)
        assert a.dtype == x.dtype and carriage.library.done[0] == "pinned"
        assert a.flags.writeable and not np.shares_memory(a, x._values)


def test_streams_are_waited_for(carriage):
    carriage.ready()
    assert carriage.library.done == ["synchronized"]
    stream = SimpleNamespace(done=False)
    request = StreamRequest(stream)
    assert not request.Test()
    stream.done = True
    assert request.Test()


def test_nccl_where_it_is(carriage):
    assert carriage.fast is carriage.library.cuda.nccl and len(carriage.fast_identity()) == 256
    assert NcclCommunicator.reduces("float32") and not NcclCommunicator.reduces(np.complex128)
    without = CudaCarriage(device_arrays.make("bus", with_nccl=False), 0)
    assert without.fast is None  # CuPy has a stub of the module then
    assert without.place() == carriage.place()
