"""Ways for an array to lie in memory. Each is a function of an array that returns one of the same shape and dtype."""

import numpy as np


def plain(x):
    return np.ascontiguousarray(x).reshape(x.shape)


def readonly(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def offset(x):
    """From the second element of a buffer on."""
    y = np.empty(x.size + 1, x.dtype)[1:].reshape(x.shape)
    y[...] = x
    return y


def fortran(x):
    return np.array(x, order="F")


def reverse(x):
    """Negative strides in all axes."""
    back = (slice(None, None, -1),) * x.ndim
    return x[back].copy()[back]


def gaps(x):
    """Every second element of the last axis, every third of the first."""
    if not x.ndim:
        return x.copy()
    y = np.zeros((3 * x.shape[0], *x.shape[1:-1], 2 * x.shape[-1]) if x.ndim > 1 else (3 * x.shape[0],), x.dtype)
    y = y[::3, ..., ::2] if x.ndim > 1 else y[::3]
    y[...] = x
    return y


def swapped(x):
    """The last two axes in the other order."""
    return np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2) if x.ndim > 1 else x.copy()


def broadcast(x):
    """Stride 0 along the first axis, all of whose elements become the first."""
    return np.broadcast_to(x[:1].copy(), x.shape) if x.ndim else x.copy()


def repeated(x):
    """Stride 0 along the last axis, all of whose elements become the first."""
    return np.broadcast_to(x[..., :1].copy(), x.shape) if x.ndim else x.copy()


def unaligned(x):
    """At an address that is no multiple of the size of an element."""
    y = np.empty(x.size * x.itemsize + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


LAYOUTS = {f.__name__: f for f in (plain, readonly, offset, fortran, reverse, gaps, swapped, broadcast, repeated, unaligned)}
