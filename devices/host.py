"""NumPy's kernels: each card's operation is NumPy's function of the same name, with the exceptions listed here."""

import operator

import numpy as np

from ..dispatch import CPU, HostArray
from ..dsl import operations
from ..dsl.array_libraries import creator
from .device import Device, place
from .kernels import common_kernels, install_kernels, small_broadcast
from .linear_algebra import linear_algebra_kernels
from .philox import numpy_random_bits
from .shortcuts import shortcuts
from .special import special_kernels
from .transforms import convolution_kernels, fourier_kernels, sequence_kernels, small_products, window_kernels

REDUCTIONS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "all": np.logical_and, "any": np.logical_or,
}  # fmt: skip


def expm1(x):
    """NumPy's; for complex numbers corrected where NumPy is wrong: not finite, and a real part of -0.0 for -0.0."""
    y = np.expm1(x)
    if y.dtype.kind != "c":
        return y
    y = np.where(np.isfinite(x), y, np.exp(x) - 1)
    y.real += 0.0
    return y[()]


_all = np.logical_and.reduce


def masked_product(x, y):
    """Mostly there is no zero to be masked, which is cheaper to ask than to do."""
    return np.multiply(x, y) if _all(x, axis=None) else _masked(np.multiply, x, y)


def masked_quotient(x, y):
    return np.divide(x, y) if _all(x, axis=None) else _masked(np.divide, x, y)


def _masked(function, x, y):
    with np.errstate(invalid="ignore"):  # what is masked warns of nothing
        return np.where(np.equal(x, 0), 0, function(x, y))[()]


def tanh_slope(x):
    """1 / cosh(x)², in one array; where cosh overflows it is 0."""
    with np.errstate(over="ignore"):
        s = np.cosh(x)
        if type(s) is not np.ndarray:
            return (1 / s) ** 2
        return np.square(np.reciprocal(s, s), s)


EXCEPTIONS = {
    **common_kernels(np),
    **special_kernels(np, "scipy.special", "install SciPy, which is the extra polyad[scipy]"),
    "random_bits": numpy_random_bits(),
    **{name: ufunc.reduce for name, ufunc in REDUCTIONS.items()},  # the functions of these names take twice the time
    **fourier_kernels(np),
    **sequence_kernels(np),
    **small_products(np),
    **window_kernels(np),
    **convolution_kernels(np),
    **{f.__name__: f for f in (np.inner, np.correlate)},  # composite, but NumPy's is faster
    "broadcast_to": small_broadcast(np),
    **shortcuts(),
    **{f.__name__: f for f in (expm1, masked_product, masked_quotient, tanh_slope)},
    **linear_algebra_kernels(np, "scipy.linalg"),
}
install_kernels(np, HostArray, EXCEPTIONS)


# ---------------------------------------------------------------------- creation and transfer
@creator.method
def creator_on_host(device: Device[CPU], /):
    return np


@place.method
def place_on_host(x: HostArray, device: Device[CPU], /):
    return x


# ---------------------------------------------------------------------- numbers
def scalar_kernels():
    """Python's operators for NumPy's double numbers, whose own functions take ten times as long for them."""
    exact = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}
    for name, function in exact.items():
        for types in ((np.float64, np.float64), (np.float64, float), (float, np.float64)):
            operations[name].generic.add(function, types)
    operations["negative"].generic.add(operator.neg, (np.float64,))


scalar_kernels()
