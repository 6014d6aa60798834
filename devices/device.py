"""Devices by name, where an array lies, moving it, and where new arrays are made.

A library of its own devices adds: a kind (`class NPU(DeviceKind)`), how many there are (`register_devices`), how to
ask an array (`register_device_of`), creation (`@creator.method` for its arrays and for `Device[NPU]`), and the way
from and to the host (`@place.method` for a NumPy array and `Device[NPU]`, `@host_copy.method` for its arrays).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dispatch import CPU, Container, DeviceKind, DeviceMismatchError, Layer, PolyadError, describe, generic, isa, tree
from ..dispatch.device_kinds import lookup_device_of, lookup_kind
from ..dsl.array_libraries import Scalar, bottom, creator, host_copy, namespace
from ..dsl.card import linear
from ..dsl.ir.compiling import compile_program
from ..dsl.ir.programs import Program, evaluate
from ..dsl.samples import case, normal


class DeviceError(PolyadError, ValueError):
    """A device that does not exist, or not here."""


class Device(str):
    """One device: a kind and an ordinal. It is the text `"cuda:1"`, compares equal to it, and is hashable.

    Device(CUDA, 1), Device("cuda:1") and Device("cuda:1").kind, .ordinal; the ordinal is 0 unless given.
    Its class is `Device[CUDA]`, for methods that are for one kind. Raises DeviceError for text that names no kind.

    >>> from polyad.devices import Device
    >>> Device("cuda:1").ordinal, Device("cpu") == "cpu:0", str(Device("cpu"))
    (1, True, 'cpu:0')
    """

    kind = None
    ordinal = 0
    classes = {}  # kind -> class

    def __new__(cls, kind: Any, ordinal: int | None = None) -> Any:
        if isinstance(kind, Device):
            return kind
        if isinstance(kind, str):
            text, _, number = kind.partition(":")
            if number and not number.isdecimal():
                raise DeviceError(f"{kind!r} names no device; write a kind and a number, such as 'cpu:0' or 'cuda:1'")
            kind, ordinal = _kind_named(text), int(number or 0)
        made = str.__new__(Device[kind], f"{kind.__name__.lower()}:{ordinal or 0}")
        made.ordinal = ordinal or 0
        return made

    def __class_getitem__(cls, kind):
        made = Device.classes.get(kind)
        if made is None:
            made = Device.classes[kind] = type(f"Device[{kind.__name__}]", (Device,), {"kind": kind, "__module__": __name__})
        return made

    def __reduce__(self):
        return Device, (str(self),)


def _kind_named(text):
    kinds = {k.__name__.lower(): k for k in _kinds(DeviceKind)}
    if text.lower() not in kinds:
        raise DeviceError(f"there is no kind of device {text!r}; kinds are {', '.join(sorted(kinds))}")
    return kinds[text.lower()]


def _kinds(base):
    return [k for below in type.__subclasses__(base) for k in (below, *_kinds(below))]


HOST = Device(CPU, 0)

# ---------------------------------------------------------------------- which devices there are
_counts = {}  # kind -> function() -> how many
_services = {}  # kind -> (synchronize, memory)


def register_devices(kind: type[DeviceKind], count: Callable[[], int], synchronize: Any = None, memory: Any = None) -> None:
    """Say how many devices of a kind there are.

    count: function() -> int; what it raises counts as none. synchronize: function(ordinal) that waits until all work
    on the device is done. memory: function(ordinal) -> (free, total), in bytes.
    """
    _counts[kind] = count
    _services[kind] = (synchronize, memory)


def available_devices() -> list[Device]:
    """Every device that can be used here, the host first, as a list of `Device`. Never raises.

    >>> import polyad as pa
    >>> pa.available_devices()[0]
    'cpu:0'
    """
    return [Device(kind, n) for kind, count in list(_counts.items()) for n in range(_count(count))]


def _count(function):
    try:
        return function()
    except Exception:  # whatever a driver raises, the devices cannot be used
        return 0


def usable(device):
    """A device, or its name, as a `Device` that is here. Raises DeviceError."""
    device = Device(device)
    there = available_devices()
    if device not in there:
        raise DeviceError(f"there is no device {device} here; available are {', '.join(there)}")
    return device


def synchronize(device: Any = None) -> None:
    """Wait until all work given to a device (or to all of them) is done; for timing."""
    for each in available_devices() if device is None else [usable(device)]:
        wait = _services[each.kind][0]
        if wait is not None:
            wait(each.ordinal)


def memory(device: Any) -> Any:
    """(free, total) memory of a device in bytes. Raises DeviceError if it is not here or keeps no account."""
    device = usable(device)
    ask = _services[device.kind][1]
    if ask is None:
        raise DeviceError(f"{device} gives no account of its memory")
    return ask(device.ordinal)


# ---------------------------------------------------------------------- where an array lies
@generic
def device_of(x, /):
    """The device on which an array lies; for layer values and containers that of what they hold; for numbers the host.

    Raises DeviceMismatchError for a container whose leaves lie on several, and for classes that nothing is known about.

    >>> import numpy as np, polyad as pa
    >>> pa.device_of(np.ones(3))
    'cpu:0'
    """


@device_of.method
def device_of_array(x: object, /):
    ask = lookup_device_of(type(x))
    if ask is not None:
        return ask(x)
    kind = lookup_kind(type(x))
    if kind is not None:
        return Device(kind, 0)
    raise DeviceMismatchError(
        f"device_of: nothing is known about the device of {describe(x)}; say it with polyad.register_kind (one for all "
        "arrays of the class) or polyad.register_device_of (a function that asks each array)"
    )


@device_of.method
def device_of_number(x: Scalar, /):
    return HOST


@device_of.method
def device_of_layer(x: Layer, /):
    held = bottom(x)
    return HOST if held is None else device_of(held)


@device_of.method
def device_of_container(x: Container, /):
    found = list(dict.fromkeys(device_of(leaf) for leaf in tree.leaves(x) if not isinstance(leaf, Scalar)))
    if len(found) > 1:
        raise DeviceMismatchError(
            f"device_of: the leaves of {describe(x)} lie on different devices, {' and '.join(map(str, found))}; move "
            "them with polyad.to_device(x, device)"
        )
    return found[0] if found else HOST


# ---------------------------------------------------------------------- moving
@generic
def place(x, device, /):
    """A dense array on a device: the kernel of `to_device`, per class of array and of device. It may return x itself.

    Without a method for the pair the way is over the host: `host_copy(x)`, then the method for NumPy arrays.
    """


@place.method
def place_over_host(x: object, device: Device, /):
    if isa(x, np.ndarray):
        raise DeviceError(f"to_device: no way from the host to {device}; add one with @polyad.devices.place.method")
    if lookup_device_of(type(x)) is not None and device_of(x) == device:
        return x
    return place(host_copy(x), device)


@place.method
def place_by_name(x: object, device: str, /):
    return place(x, usable(device))


@compile_program.method
def compile_program_by_name(program: Program, device: str, /, *, passes=None):
    if isinstance(device, Device):  # of a kind without compiled code: operation by operation
        return lambda *leaves: evaluate(program, leaves)
    return compile_program(program, Device(device), passes=passes)


@linear(kernel=None, numpy=(), samples=[case(normal(3), device="cpu:0"), case(normal(), device="cpu")])
def to_device(x, /, device):
    """The array, or every array of a tree, on a device. This is the only way in which arrays change their device.

    x: array, layer value, container, or tree of them. device: `Device` or text such as "cuda:0". An array that is there
    already is returned itself; Python numbers stay as they are, for they mix with arrays everywhere.
    Linear: a tangent moves along, a cotangent moves back. Raises DeviceError, or DeviceMismatchError for unknown
    classes.

    >>> import numpy as np, polyad as pa
    >>> pa.to_device({"w": np.ones(2), "rate": 0.1}, "cpu:0")
    {'w': array([1., 1.]), 'rate': 0.1}
    """


to_device.rule("shape")(lambda x, device: x)
to_device.rule("transpose")([lambda ct, y, x, device: to_device(ct, device=device_of(x))])
to_device.rule("batch")(lambda size, xs, batched, device: to_device(xs[0], device=device))


@to_device.method
def to_device_tree(x: object, /, device):
    leaves, structure = tree.flatten(x)
    if len(leaves) == 1 and leaves[0] is x:
        return x if isa(x, (bool, int, float, complex)) and not isa(x, np.generic) else place(x, usable(device))
    return tree.unflatten(structure, [to_device(leaf, device) for leaf in leaves])


# ---------------------------------------------------------------------- where new arrays are made
class device:
    """`with device("cuda:0"):` creation functions (`zeros`, `arange`, `asarray` of a list, …) make arrays on that
    device.

    Arrays "like" another (`zeros_like`) are made where the other lies, with or without this. Raises DeviceError at
    entry if the device is not available.

    >>> import polyad as pa
    >>> with pa.device("cpu:0"):
    ...     pa.zeros(2)
    array([0., 0.])
    """

    def __init__(self, device: Any) -> None:
        self.device = Device(device)
        self.tokens = []

    def __enter__(self) -> Any:
        self.tokens.append(namespace.set(creator(usable(self.device))))
        return self.device

    def __exit__(self, *error: Any) -> None:
        namespace.reset(self.tokens.pop())


register_devices(CPU, lambda: 1)
