"""Where things run: devices, transfer, and the kernels of each array library."""

from . import codegen, cuda, host, own_kernels, standard
from .device import (
    Device,
    DeviceError,
    available_devices,
    device,
    device_of,
    memory,
    place,
    register_devices,
    synchronize,
    to_device,
)
from .kernels import install_kernels, operand
from .lowering import lowering

__all__ = [
    "Device", "DeviceError", "available_devices", "device", "device_of", "install_kernels", "lowering", "memory", "operand",
    "place", "register_devices", "synchronize", "to_device",
]  # fmt: skip
