"""Device kinds: the part of "where an array lies" that takes part in choosing a kernel.

A kind is a class (`CPU`, `CUDA`), the ordinal (`cuda:1`) is data. Most array classes live on one kind, so their type
says all; a library whose one class lives on several devices registers how to ask an array (`register_device_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DeviceMismatchError, RegistrationError, describe

if TYPE_CHECKING:
    from collections.abc import Callable


class DeviceKind:
    """Base class of device kinds; a kind is used as a class and never instantiated."""


class CPU(DeviceKind):
    """The host: NumPy arrays and Python numbers."""


class CUDA(DeviceKind):
    """NVIDIA devices: CuPy arrays."""


class _OnMeta(type):
    def __getitem__(cls, kind):
        if not (isinstance(kind, type) and issubclass(kind, DeviceKind)):
            raise RegistrationError(f"On[...] takes a device kind such as On[CUDA], not {kind!r}")
        return type(f"On[{kind.__name__}]", (On,), {"kind": kind})


class On(metaclass=_OnMeta):
    """`On[CUDA]` as the argument of `@op.method(On[CUDA])`: this kernel is for that kind of device only."""

    kind = None


_kind_of_type = {np.ndarray: CPU}  # array class -> its one kind
_device_of_type = {}  # array class -> function(array) -> Device, for classes that live on several


def register_kind(array_class: type, kind: type) -> None:
    """Say that every array of `array_class` lies on devices of this kind."""
    _kind_of_type[array_class] = kind


def register_device_of(array_class: type, function: Callable[[Any], Any]) -> None:
    """Say how to ask one array of `array_class` for its device (an object with a `kind` and an equality)."""
    _device_of_type[array_class] = function


def lookup_kind(cls):
    """The one kind of an array class, or None if it has none or several."""
    for base in cls.__mro__:
        if base in _kind_of_type:
            return _kind_of_type[base]
    return None


def lookup_device_of(cls):
    """The function that asks an array of this class for its device, or None if the type says all."""
    for base in cls.__mro__:
        if base in _device_of_type:
            return _device_of_type[base]
    return None


def common_device(name, args):
    """The one device on which all placed arguments lie; an error naming both when there are two."""
    found, first = None, None
    for x in args:
        ask = lookup_device_of(type(x))
        kind = None if ask else lookup_kind(type(x))
        device = ask(x) if ask else kind
        if device is None:
            continue
        if found is None:
            found, first = device, x
        elif device != found and not _same_kind_alone(device, found):
            raise mixed_devices(name, first, found, x, device)
    return found


def _same_kind_alone(a, b):
    """One is known by its kind only (NumPy's arrays), and the other is the first device of that kind."""
    if isinstance(a, type) == isinstance(b, type):
        return False
    kind, device = (a, b) if isinstance(a, type) else (b, a)
    return device.kind is kind and not getattr(device, "ordinal", 0)


def mixed_devices(name, x, x_device, y, y_device):
    """The error for arguments on two devices; nothing is ever copied between them silently."""
    label = lambda d: d.__name__.lower() if isinstance(d, type) else str(d)
    return DeviceMismatchError(
        f"{name}: arguments on different devices: {describe(x)} on {label(x_device)} and {describe(y)} on "
        f"{label(y_device)}; move one with polyad.to_device(x, device)"
    )
