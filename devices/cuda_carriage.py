"""How CuPy's arrays travel between processes: through pinned memory of the host, by an MPI library that reads the device's
memory, or by NCCL.

Streams: what a kernel has yet to write is not in an array. `host` waits for the current stream of the array's device by the
copy itself, `ready` before MPI is handed an array; NCCL runs on that stream, after all that was given to it.

There is no GPU where this was written: it was tested on a stand-in for CuPy with arrays in the host's memory. That cannot show
whether a stream is waited for where it must be (the stand-in only counts that it is), whether a build of MPI reads memory of a
device, what NCCL does, how it ends where a rank dies, or how fast any of it is.
"""

import functools
import socket

import numpy as np

from .carriage import Carriage

NCCL_TYPES = {"float32": "NCCL_FLOAT32", "float64": "NCCL_FLOAT64", "int64": "NCCL_INT64", "uint64": "NCCL_UINT64",
              "uint8": "NCCL_UINT8"}  # fmt: skip
NCCL_REDUCTIONS = {"SUM": "NCCL_SUM", "PROD": "NCCL_PROD", "MAX": "NCCL_MAX", "MIN": "NCCL_MIN"}


class CudaCarriage(Carriage):
    """The way of CuPy's arrays on one device."""

    on_device = True
    test = """
import cupy
x, y = cupy.arange(4.0), cupy.zeros(4)
cupy.cuda.get_current_stream().synchronize()
exchange(x, y)
assert y.get().tolist() == [0.0, 1.0, 2.0, 3.0]
"""

    def __init__(self, library, ordinal):
        super().__init__(library)
        self.ordinal = ordinal

    def _here(self):
        return self.library.cuda.Device(self.ordinal)

    def host(self, x):
        """Copy to pinned memory, which a device reads and writes at full speed, and wait for it."""
        cupy = self.library
        with self._here():
            memory = cupy.cuda.alloc_pinned_memory(max(x.nbytes, 1))
            a = np.frombuffer(memory, x.dtype, x.size).reshape(x.shape)
            if x.size:
                x.get(out=a)
        return a

    def like(self, a, x):
        with self._here():
            return self.library.asarray(a)

    def place(self):
        """Name the device such that two ranks that have the same one say so."""
        return socket.gethostname(), self.library.cuda.runtime.deviceGetPCIBusId(self.ordinal)

    def ready(self):
        """Wait for all that was given to the current stream of the device."""
        with self._here():
            self.library.cuda.get_current_stream().synchronize()

    def empty(self, shape, dtype):
        with self._here():
            return self.library.empty(shape, dtype)

    def in_a_row(self, x):
        """The array, or a copy, in C order."""
        with self._here():
            return self.library.ascontiguousarray(x)

    @functools.cached_property
    def fast(self):
        """The module of NCCL, or None."""
        try:
            nccl = self.library.cuda.nccl
            nccl.get_version()
        except Exception:  # without NCCL CuPy has a stub of the module, or none; whatever its driver raises, it is of no use
            return None
        return nccl

    def fast_identity(self):
        """Make what the ranks of an NCCL communicator have in common. It goes to them as it is, since CuPy's versions differ in
        the numbers it is made of."""
        assert self.fast is not None
        return self.fast.get_unique_id()

    def fast_communicator(self, size, rank, identity):
        return NcclCommunicator(self, size, rank, identity)


class NcclCommunicator:
    """NCCL's collectives, on the current stream; each gives a request, as MPI does."""

    def __init__(self, carriage, size, rank, identity):
        self.carriage, self.nccl = carriage, carriage.fast
        with carriage._here():
            self.comm = self.nccl.NcclCommunicator(size, identity, rank)

    def _start(self, call, *arguments):
        with self.carriage._here():
            stream = self.carriage.library.cuda.get_current_stream()
            call(*arguments, stream.ptr)
        return StreamRequest(stream)

    def _type(self, x):
        return getattr(self.nccl, NCCL_TYPES[x.dtype.name])

    @staticmethod
    def reduces(dtype):
        """Return whether there is a sum of this dtype."""
        return np.dtype(dtype).name in NCCL_TYPES

    def all_reduce(self, sent, received, mpi):
        op = getattr(self.nccl, NCCL_REDUCTIONS[mpi])
        return self._start(self.comm.allReduce, sent.data.ptr, received.data.ptr, sent.size, self._type(sent), op)

    def all_gather(self, sent, received):
        return self._start(self.comm.allGather, sent.data.ptr, received.data.ptr, sent.size, self._type(sent))

    def broadcast(self, x, root):
        return self._start(self.comm.bcast, x.data.ptr, x.size, self._type(x), root)


class StreamRequest:
    """The work that a stream still has to do, as a request of MPI that is tested until it is complete."""

    def __init__(self, stream):
        self.stream = stream

    def Test(self):
        return self.stream.done


@functools.cache
def cuda_carriage(library, ordinal):
    """The CudaCarriage of a device."""
    return CudaCarriage(library, ordinal)
