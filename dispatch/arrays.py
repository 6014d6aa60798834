"""What counts as an array: the classes that annotations of methods name."""

import math
import numbers
from abc import ABCMeta

import numpy as np

from .annotations import Operators
from .generic import clear_all


class ArrayMeta(ABCMeta):
    """Makes `Array.register(T)` seen by the next call of every generic function, and asks values for their own type."""

    __faithful__ = True  # types decide (signatures.py)

    def __instancecheck__(cls, x):
        return cls.__subclasscheck__(type(x))  # not what x stands for

    def register(cls, subclass):
        super().register(subclass)
        clear_all()
        return subclass


class Array(Operators, metaclass=ArrayMeta):
    """Whatever an operation takes: dense arrays and numbers, layer values, containers. For annotations.

    `dsl` installs the operators and the methods (`x + y`, `x.sum()`, `x[i]`) on this class.
    """

    __slots__ = ()

    @property
    def ndim(self):
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        return math.prod(self.shape)


class HostArray(metaclass=ArrayMeta):
    """NumPy arrays, NumPy scalars and Python numbers: what NumPy kernels take. For annotations."""


for host in (np.ndarray, np.generic, numbers.Number):
    HostArray.register(host)
Array.register(HostArray)  # the class itself, so that a method for HostArray goes before one for Array
