"""CuPy's kernels: each card's operation is CuPy's function of the same name, on the device of its arrays.

CuPy is imported when the first of its arrays is met or a CUDA device is asked for, never by `import polyad`.
Differences from NumPy: results of no axes stay arrays; positions out of range wrap around in `index`, `take` and the
writes (CuPy does not check them, for that would wait for the device).
"""

import functools

import numpy as np

from ..dispatch import CUDA, HostArray, isa, lazy_libraries, register_device_of
from ..dsl.array_libraries import creator, host_copy
from .carriage import carriage_of
from .cuda_carriage import cuda_carriage
from .cuda_codegen import install_call
from .device import Device, place, register_devices
from .kernels import common_kernels, install_kernels, operand, unordered_writes
from .linear_algebra import linear_algebra_kernels
from .philox import random_bits_kernel
from .special import special_kernels
from .transforms import convolution_kernels, fourier_kernels, sequence_kernels, window_kernels


@functools.cache
def cuda(ordinal):
    """The device of this number."""
    return Device(CUDA, ordinal)


def install():
    """Register CuPy's arrays and a kernel for each card. Called when the first CuPy array is met."""
    import cupy  # pyright: ignore[reportMissingImports]

    def where(condition, x, y):
        return cupy.where(cupy.asarray(condition), x, y)

    exceptions = {
        **common_kernels(cupy), **unordered_writes(cupy), **fourier_kernels(cupy),
        **sequence_kernels(cupy), **window_kernels(cupy),
        **convolution_kernels(cupy), **linear_algebra_kernels(cupy, "cupyx.scipy.linalg"), "where": where,
        **special_kernels(cupy, "cupyx.scipy.special", "it is a part of CuPy: install CuPy again"),
        "random_bits": random_bits_kernel(cupy),
    }  # fmt: skip
    register_device_of(cupy.ndarray, lambda x: cuda(x.device.id))
    creator.generic.add(lambda x: Creator(x.device.id), (cupy.ndarray,))
    creator.generic.add(lambda device: Creator(device.id), (cupy.cuda.Device,))  # `zeros(3, device=x.device)`
    host_copy.generic.add(lambda x: x.get(), (cupy.ndarray,))
    carriage_of.generic.add(lambda x: cuda_carriage(cupy, x.device.id), (cupy.ndarray,))  # type: ignore[arg-type]  a module can be hashed
    arrays = operand(cupy.ndarray)
    install_kernels(cupy, arrays, exceptions, kind=CUDA, around=functools.partial(on_its_device, cupy))
    install_call(arrays)


lazy_libraries["cupy"] = install


def on_its_device(cupy, kernel):
    """A kernel that runs with the device of its arrays current, as CuPy wants it (they all lie on one)."""

    @functools.wraps(kernel)
    def run(*args, **params):
        ordinal = next(x.device.id for x in args if isa(x, cupy.ndarray))
        if cupy.cuda.runtime.getDevice() == ordinal:
            return kernel(*args, **params)
        with cupy.cuda.Device(ordinal):
            return kernel(*args, **params)

    return run


class Creator:
    """CuPy's creation functions, run with one device current."""

    def __init__(self, ordinal):
        self.ordinal = ordinal

    def __getattr__(self, name):
        import cupy  # pyright: ignore[reportMissingImports]

        function = getattr(cupy, name)

        def make(*args, **params):
            with cupy.cuda.Device(self.ordinal):
                return function(*args, **params)

        return make


@creator.method
def creator_on_cuda(device: Device[CUDA], /):
    return Creator(device.ordinal)


@place.method
def place_on_cuda(x: HostArray, device: Device[CUDA], /):
    return Creator(device.ordinal).asarray(np.asarray(x))


# ---------------------------------------------------------------------- the devices
def count():
    """Count the CUDA devices that CuPy can use. Raises what CuPy raises without a driver, or ImportError."""
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy.cuda.runtime.getDeviceCount()


def synchronize(ordinal):
    """Wait until all work given to this device is done."""
    import cupy  # pyright: ignore[reportMissingImports]

    cupy.cuda.Device(ordinal).synchronize()


def memory(ordinal):
    """(free, total) bytes as the driver sees them; what CuPy's pool keeps for later counts as used."""
    import cupy  # pyright: ignore[reportMissingImports]

    return tuple(cupy.cuda.Device(ordinal).mem_info)


register_devices(CUDA, count, synchronize, memory)
