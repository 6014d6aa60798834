"""Collectives of arrays of any library, which come back as their own type, where they lay."""

import functools

import numpy as np

from ...devices.carriage import carriage_of
from .direct import DIRECT, route


def of_any_array(method):
    """Make a collective of Communicator, a method of NumPy arrays, one of arrays of any library.

    An array that the host can read is copied there; one on a device goes by NCCL or by an MPI library that reads its memory, if
    all ranks have that and the collective is one of those in direct.py, else by pinned memory of the host.
    """

    @functools.wraps(method)
    def collective(self, x, *args, **options):
        if type(x) is np.ndarray or (carriage := carriage_of(x)) is None:
            return method(self, x, *args, **options)
        if carriage.on_device and self.size > 1 and method.__name__ in DIRECT:
            way = route(self, carriage)
            if way is not None:
                result = DIRECT[method.__name__](self, way, x, *args, **options)
                if result is not NotImplemented:
                    return result
        return carriage.like(method(self, carriage.host(x), *args, **options), x)

    return collective
