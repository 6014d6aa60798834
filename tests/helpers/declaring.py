"""Operations as tests declare them."""

import polyad as pa


def kernel(op, function):
    """A method for NumPy arrays and numbers, by the number of arrays."""
    if op.generic.arity == 1:

        def method(x: pa.HostArray, /, **params):
            return function(x, **params)
    else:

        def method(x: pa.HostArray, y: pa.HostArray, /, **params):
            return function(x, y, **params)

    op.method(method)
    return op
