"""NumPy's kernels: each card's operation is NumPy's function of the same name, with the exceptions listed here."""

import math

import numpy as np

from ..dispatch import CPU, HostArray
from ..dsl.libraries import creator
from .device import Device, place
from .kernels import common_kernels, install_kernels


def sum_numpy(x, axis=None, dtype=None, keepdims=False):
    return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def max_numpy(x, axis=None, keepdims=False):
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min_numpy(x, axis=None, keepdims=False):
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def all_numpy(x, axis=None, keepdims=False):
    return np.logical_and.reduce(x, axis=axis, keepdims=keepdims)


def any_numpy(x, axis=None, keepdims=False):
    return np.logical_or.reduce(x, axis=axis, keepdims=keepdims)


def broadcast_to_numpy(x, shape):
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if math.prod(shape) > 1024:  # a view; below that a copy costs less than making the view
        return np.broadcast_to(x, shape)
    x = np.asarray(x)
    y = np.empty(shape, x.dtype)
    if np.broadcast_shapes(x.shape, y.shape) != y.shape:
        raise ValueError(f"cannot be broadcast to {list(y.shape)}")
    y[...] = x
    return y


EXCEPTIONS = {
    **common_kernels(np),
    **{name.removesuffix("_numpy"): function for name, function in dict(globals()).items() if name.endswith("_numpy")},
}
install_kernels(np, HostArray, EXCEPTIONS)


# ---------------------------------------------------------------------- creation and transfer
@creator.method
def creator_on_host(device: Device[CPU], /):
    return np


@place.method
def place_on_host(x: HostArray, device: Device[CPU], /):
    return x
