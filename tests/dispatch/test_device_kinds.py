"""Device kinds: found by class, or by asking the array; two in one call are an error that names both."""

from dataclasses import dataclass

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import device_kinds as kinds

pytestmark = pytest.mark.quick


class Toy(kinds.DeviceKind):
    """A device of this file."""


class OnToy:
    """Arrays of a library whose class says where they lie."""

    shape, dtype = (2,), np.dtype(float)


class SubOnToy(OnToy): ...


@dataclass(frozen=True)
class Device:
    kind: type
    ordinal: int

    def __str__(self):
        return f"{self.kind.__name__.lower()}:{self.ordinal}"


class Anywhere:
    """Arrays of a library whose one class lives on several devices."""

    shape, dtype = (3,), np.dtype(float)

    def __init__(self, device):
        self.device = device


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(kinds, "_kind_of_type", dict(kinds._kind_of_type))
    monkeypatch.setattr(kinds, "_device_of_type", dict(kinds._device_of_type))
    kinds.register_kind(OnToy, Toy)
    kinds.register_device_of(Anywhere, lambda x: x.device)


def test_kinds_are_inherited():
    assert kinds.lookup_kind(np.ndarray) is kinds.lookup_kind(np.ma.MaskedArray) is kinds.CPU
    assert kinds.lookup_kind(OnToy) is kinds.lookup_kind(SubOnToy) is Toy
    assert kinds.lookup_kind(float) is None and kinds.lookup_kind(Anywhere) is None
    assert kinds.lookup_device_of(OnToy) is None and kinds.lookup_device_of(Anywhere) is not None


def test_one_device_for_all():
    x, here = np.ones(2), Device(Toy, 0)
    assert kinds.common_device("f", (x, 1.0, np.zeros(3))) is kinds.CPU
    assert kinds.common_device("f", (1.0, 2)) is None  # numbers lie nowhere
    assert kinds.common_device("f", (2.0, OnToy())) is Toy
    assert kinds.common_device("f", (Anywhere(here), Anywhere(Device(Toy, 0)))) == here
    # known by its kind alone, beside the first device of that kind
    assert kinds.common_device("f", (OnToy(), Anywhere(here))) is Toy
    assert kinds.common_device("f", (Anywhere(here), OnToy())) == here


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((np.ones(2), OnToy()), r"float64\[2\]\) on cpu and .*OnToy\(float64\[2\]\) on toy"),
        ((Anywhere(Device(Toy, 0)), 1.0, Anywhere(Device(Toy, 1))), "on toy:0 and .* on toy:1"),
        ((OnToy(), Anywhere(Device(Toy, 1))), "on toy and .* on toy:1"),
        ((Anywhere(Device(Toy, 0)), np.ones(2)), "on toy:0 and .* on cpu"),
    ],
)
def test_two_devices_are_named(args, told):
    with pytest.raises(pa.DeviceMismatchError, match=f"f: arguments on different devices: .*{told}; move one"):
        kinds.common_device("f", args)


def test_annotations():
    assert issubclass(kinds.On[Toy], kinds.On) and kinds.On[Toy].kind is Toy
    for wrong in (OnToy, "cuda", 0):
        with pytest.raises(pa.RegistrationError, match=r"On\[\.\.\.\] takes a device kind"):
            kinds.On[wrong]
