"""How arrays of other libraries than NumPy travel between processes: through the host's memory, or as they lie on a device.

A library of its own devices adds a method to `carriage_of` that gives its `Carriage`.
"""

import sys

import numpy as np

from ..dispatch import Container, Layer, generic, isa


class Carriage:
    """The way of one library's arrays; this one is of all that the host can read.

    on_device: whether MPI may be handed an array as it lies, once a test has shown that its library takes it; then there are
    `ready`, `place`, `empty`, `in_a_row`, `test`, and `fast`, as in devices/cuda_carriage.py.
    """

    on_device = False

    def __init__(self, library):
        self.library = library

    def host(self, x):
        """Copy an array to the host, as a NumPy array."""
        return np.asarray(x)

    def like(self, a, x):
        """Make an array of x's library, where x lies, of a NumPy array that nobody else holds."""
        return self.library.asarray(a)


@generic
def carriage_of(x, /):
    """The Carriage of an array, or None for NumPy arrays, numbers, lists and all that is no array of a library."""


@carriage_of.method
def carriage_of_any(x: object, /):
    known = isa(x, (np.ndarray, np.generic, Layer, Container))
    return None if known or not (hasattr(x, "dtype") and hasattr(x, "shape")) else _of_library(x)


def _of_library(x):
    """By the standard's namespace, or the module in which its class is, if that has `asarray`: PyTorch's, JAX's."""
    if hasattr(x, "__array_namespace__"):
        return Carriage(x.__array_namespace__())
    module = sys.modules.get(type(x).__module__.partition(".")[0])
    return Carriage(module) if hasattr(module, "asarray") and module is not np else None
