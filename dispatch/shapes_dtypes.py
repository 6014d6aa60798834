"""Shape and dtype of whatever is an array, a value of a layer or a number."""

import functools

import numpy as np


def shape_of(x):
    """Shape of an array, layer value or number."""
    try:
        return x.shape
    except AttributeError:
        return np.shape(x)


def dtype_of(x):
    """NumPy's dtype of an array, layer value or number (Python numbers: that of NumPy's array of them)."""
    try:
        dtype = x.dtype
    except AttributeError:
        return np.asarray(x).dtype
    return dtype if isinstance(dtype, np.dtype) else _named_dtype(dtype)


@functools.cache
def _named_dtype(dtype):
    """NumPy's dtype of the same name as another library's, such as `torch.float32`."""
    return np.dtype(str(dtype).rpartition(".")[2])


def ndim_of(x):
    """Number of axes of an array, layer value or number."""
    return len(shape_of(x))


def is_number(x):
    """A Python number, which follows the other operand's dtype (NEP 50)."""
    kind = type(x)
    return issubclass(kind, (bool, int, float, complex)) and not issubclass(kind, np.generic)
