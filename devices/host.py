"""NumPy's kernels: each card's operation is NumPy's function of the same name, with the exceptions listed here."""

import numpy as np

from ..dispatch import CPU, HostArray
from ..dsl.libraries import creator
from .device import Device, place
from .kernels import common_kernels, install_kernels, small_broadcast

REDUCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "all": np.logical_and, "any": np.logical_or}
EXCEPTIONS = {
    **common_kernels(np),
    **{name: ufunc.reduce for name, ufunc in REDUCTIONS.items()},  # the functions of these names take twice the time
    "broadcast_to": small_broadcast(np),
}
install_kernels(np, HostArray, EXCEPTIONS)


# ---------------------------------------------------------------------- creation and transfer
@creator.method
def creator_on_host(device: Device[CPU], /):
    return np


@place.method
def place_on_host(x: HostArray, device: Device[CPU], /):
    return x
