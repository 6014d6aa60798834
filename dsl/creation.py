"""Creation as users call it: inside a transformation, buffers are values of it, so that followed values can be written
into them (`out = zeros(3); out[0] = x`).

`zeros ones full empty eye` ask the innermost transformation; those "like" an array follow that array. Rules of operations
use `ops/create.py`, whose results are plain constants.
"""

import functools

from ..dispatch import Layer, innermost_run, snapshot
from .ops import create


def _writable(make):
    @functools.wraps(make)
    def creation(*args, **params):
        y = make(*args, **params)
        run = innermost_run()
        if run is None:
            return y
        return snapshot(y) if isinstance(y, Layer) else run.constant(y)

    creation.__module__ = __name__
    return creation


def _writable_like(make):
    @functools.wraps(make)
    def creation(x, /, *args, **params):
        y = make(x, *args, **params)
        if not isinstance(x, Layer):
            return snapshot(y)
        if x.run.closed:
            raise x.run.leaked()
        return snapshot(y) if isinstance(y, Layer) else x.run.constant(y)

    creation.__module__ = __name__
    return creation


zeros, ones, full, empty, eye = map(_writable, (create.zeros, create.ones, create.full, create.empty, create.eye))
zeros_like, ones_like, full_like, empty_like = map(
    _writable_like, (create.zeros_like, create.ones_like, create.full_like, create.empty_like)
)
