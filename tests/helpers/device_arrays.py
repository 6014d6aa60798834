"""A stand-in for CuPy's arrays between ranks: in the host's memory, which only what reads a device may look at.

`library` stands in for the module: NumPy cannot read its arrays but by `get`; MPI can, by `__cuda_array_interface__`, as it
does CuPy's. `library.done` has what was done: streams waited for, pinned memory, calls of NCCL, which stands on MPI here.
"""

import contextlib
import ctypes
from types import SimpleNamespace

import numpy as np


class DeviceArray:
    """An array on a device."""

    __array__ = None  # no way to NumPy

    def __init__(self, values):
        self._values = values
        self.shape, self.dtype, self.size = values.shape, values.dtype, values.size
        self.nbytes, self.itemsize = values.nbytes, values.itemsize
        self.data = SimpleNamespace(ptr=values.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        assert self._values.flags.c_contiguous, "MPI is handed memory in a row"
        assert library.done[-1:] == ["synchronized"], f"MPI is handed an array that is not written yet: {library.done[-3:]}"
        place = (self._values.ctypes.data, False)
        return {"shape": self.shape, "typestr": self._values.dtype.str, "data": place, "version": 3, "strides": None}

    def get(self, out):
        out[...] = self._values
        library.done.append("get")

    def reshape(self, *shape):
        return DeviceArray(self._values.reshape(*shape))

    def view(self, dtype):
        return DeviceArray(self._values.view(dtype))

    def __setitem__(self, where, x):
        library.done.append("a kernel")
        self._values[where] = x._values


class NcclCommunicator:
    """NCCL's, by MPI and addresses."""

    def __init__(self, size, identity, rank):
        from mpi4py import MPI

        self.comm, self.MPI = MPI.COMM_WORLD.Dup(), MPI
        assert size == self.comm.size and rank == self.comm.rank and self.comm.allgather(identity) == [identity] * size

    def allReduce(self, sent, received, count, dtype, op, stream):
        library.done.append("allReduce")
        self.comm.Allreduce(at(sent, count, dtype), at(received, count, dtype), getattr(self.MPI, op.removeprefix("NCCL_")))

    def allGather(self, sent, received, count, dtype, stream):
        library.done.append("allGather")
        self.comm.Allgather(at(sent, count, dtype), at(received, count * self.comm.size, dtype))

    def bcast(self, x, count, dtype, root, stream):
        library.done.append("bcast")
        self.comm.Bcast(at(x, count, dtype), root)


def at(address, count, dtype):
    """The array at an address."""
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def make(place, with_nccl):
    """The library, on the device that `place` names."""
    names = ("float32", "float64", "int64", "uint64", "uint8")
    nccl = SimpleNamespace(get_version=lambda: 1, get_unique_id=lambda: tuple(range(-128, 128)),
                           NcclCommunicator=NcclCommunicator, **{f"NCCL_{name.upper()}": name for name in names},
                           **{f"NCCL_{op}": f"NCCL_{op}" for op in ("SUM", "PROD", "MAX", "MIN")})  # fmt: skip
    stream = SimpleNamespace(synchronize=lambda: library.done.append("synchronized"), done=True, ptr=0)

    def pinned(size):
        library.done.append("pinned")
        return bytearray(size)

    cuda = SimpleNamespace(Device=lambda ordinal: contextlib.nullcontext(), get_current_stream=lambda: stream,
                           alloc_pinned_memory=pinned, nccl=nccl if with_nccl else SimpleNamespace(),
                           runtime=SimpleNamespace(deviceGetPCIBusId=lambda ordinal: place))  # fmt: skip
    asarray = lambda a: DeviceArray(np.array(a, order="C"))
    return SimpleNamespace(cuda=cuda, done=[], asarray=asarray, empty=lambda shape, dtype: DeviceArray(np.empty(shape, dtype)),
                           ascontiguousarray=lambda x: DeviceArray(np.ascontiguousarray(x._values)))  # fmt: skip


library = None


def install(place="0000:00", with_nccl=False):
    """Make the stand-in known to the package, as CuPy makes itself; and give it."""
    global library
    from polyad.devices.carriage import carriage_of
    from polyad.devices.cuda_carriage import CudaCarriage

    library = make(place, with_nccl)
    carriage = CudaCarriage(library, 0)
    carriage_of.generic.add(lambda x: carriage, (DeviceArray,))
    return library
