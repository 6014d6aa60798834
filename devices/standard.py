"""Devices as the array API standard has them: `device=` of creation functions, `x.device`, `x.to_device`.

The standard asks that `device=` takes what `x.device` is, and NumPy's arrays say "cpu"; so here the host goes by that name.
"""

from ..dispatch import Container, DeviceMismatchError, Layer
from ..dsl.array_libraries import bottom, creator, namespace
from ..dsl.inspection import NamespaceInfo
from .device import HOST, Device, DeviceError, available_devices, device_of, to_device, usable


def standard_name(device):
    """A device as arrays name it."""
    return "cpu" if device == HOST else device


@creator.method
def creator_named(device: str, /):
    """`zeros(3, device="cuda:0")`: the creation functions of the device of this name."""
    if isinstance(device, Device):
        raise DeviceMismatchError(
            f"creator: nothing is known about {device}; register its library, @polyad.dsl.array_libraries.creator.method"
        )
    return creator(usable(device))


def _device(self):
    """The device on which the array lies, by a name that `device=` and `to_device` take."""
    return standard_name(device_of(self))


def _to_device(self, device, /, *, stream=None):
    """The array on a device, see `polyad.to_device`; streams are left to the array's library, so `stream` must be None."""
    if stream is not None:
        raise DeviceError(f"to_device: stream={stream!r} is not offered; make the stream current in the array's library")
    return to_device(self, device)


def _dlpack_device(self):
    """(kind, ordinal) as DLPack numbers them; kind 1 is the host. The export itself is refused."""
    held = bottom(self)
    return held.__dlpack_device__() if hasattr(held, "__dlpack_device__") else (1, 0)


for cls in (Layer, Container):
    setattr(cls, "device", property(_device))  # noqa: B010  which type checkers need not find on the class
    setattr(cls, "to_device", _to_device)  # noqa: B010
setattr(Layer, "__dlpack_device__", _dlpack_device)  # noqa: B010
NamespaceInfo.available = staticmethod(lambda: [standard_name(d) for d in available_devices()])
NamespaceInfo.current = staticmethod(lambda: standard_name(device_of(namespace.get().empty(0))))
