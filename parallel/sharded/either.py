"""Methods for operations on two arrays of which at least one is sharded."""

from ...dispatch import Array
from .array import Sharded


def of_either(op, method):
    """Register `method(x, y, *args, **params)` as that of an operation for pairs with a Sharded array in any place."""

    @op.method
    def first(x: Sharded, y: Array, /, *args, **params):
        return method(x, y, *args, **params)

    @op.method
    def second(x: Array, y: Sharded, /, *args, **params):
        return method(x, y, *args, **params)

    @op.method
    def both(x: Sharded, y: Sharded, /, *args, **params):
        return method(x, y, *args, **params)
