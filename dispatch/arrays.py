"""What counts as an array: the classes that annotations of methods name."""

import math
import numbers
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

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


class LayerMeta(ArrayMeta):
    """Of classes that show `collections.abc` none of its methods: whether a value can be iterated over its number of axes says,
    so that the class of the plain value in its place is asked (type_tests.py)."""

    __dict__ = property(lambda cls: {k: v for k, v in _own(cls).items() if k not in ("__contains__", "__iter__", "__len__")})  # type: ignore

    if TYPE_CHECKING:

        def __getitem__(cls, depth: int) -> Any: ...  # `Kind[depth]`; see Layer.__class_getitem__


_own = type.__dict__["__dict__"].__get__  # what a class itself defines


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


class HostArray(Operators, metaclass=ArrayMeta):
    """NumPy arrays, NumPy scalars and Python numbers: what NumPy kernels take. For annotations."""


for host in (np.ndarray, np.generic, numbers.Number):
    HostArray.register(host)
Array.register(HostArray)  # the class itself, so that a method for HostArray goes before one for Array
