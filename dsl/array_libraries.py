"""What an array library provides beside kernels: creation on the device of an example, and a copy on the host.

Rules of operations create arrays "like" those they are given, and Python's questions (`if x > 0`) need a NumPy value.
Both go by the innermost array, under all layers. A library of its own adds one method to each generic.
"""

import numbers
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..dispatch import Container, DeviceMismatchError, Layer, describe, generic, tree
from ..dispatch.arrays import Array, ArrayMeta, HostArray

namespace = ContextVar("polyad_namespace", default=np)  # the creation functions of the current device


class Scalar(metaclass=ArrayMeta):
    """Python numbers and NumPy scalars: they lie on no device and mix with the arrays of every library. For
    annotations."""

    members = (np.generic, numbers.Number)


for number in Scalar.members:
    Scalar.register(number)
for wider in (HostArray, Array):
    wider.register(Scalar)


def bottom(x: Any) -> Any:
    """The plain array, number or container under all layers of x; under a trace, an argument of the trace or None."""
    while Layer in type(x).__mro__:  # isinstance would take ten times as long
        below = x.below
        x = getattr(x.run, "example", None) if below is None else below
    return x


@generic
def creator(x, /):
    """The creation functions for the device on which x lies: an object with NumPy's `zeros ones full empty arange
    linspace eye asarray`. dtypes are given to them as NumPy's. For NumPy arrays it is NumPy itself.

    A library adds `@creator.method` for its array class. Raises DeviceMismatchError for classes without one.
    """


@generic
def host_copy(x, /):
    """x as a NumPy array: waits for a device and copies. A library adds `@host_copy.method` for its array class.

    Raises DeviceMismatchError for classes without one.
    """


creator.generic.add(lambda x: np, (HostArray,))
creator.generic.add(lambda x: creator(bottom(x)), (Layer,))
creator.generic.add(lambda x: namespace.get(), (type(None),))
host_copy.generic.add(np.asarray, (HostArray,))
host_copy.generic.add(lambda x: x.concrete(), (Layer,))


@creator.method
def creator_container(x: Container, /):
    leaves = tree.leaves(x)
    return creator(leaves[0]) if leaves else namespace.get()


@host_copy.method
def host_copy_container(x: Container, /):
    return host_copy(x.dense())


def _unknown(generic_function):
    def refuse(x):
        name = generic_function.__name__
        raise DeviceMismatchError(
            f"{name}: nothing is known about {describe(x)}; register its library, @polyad.dsl.array_libraries.{name}.method"
        )

    generic_function.generic.add(refuse, (object,))


_unknown(creator)
_unknown(host_copy)


def asarray_like(values, example, dtype=None):
    """Numbers, nested lists or a NumPy array as an array on the device of `example`."""
    return creator(example).asarray(values, dtype=dtype)
