"""Creation as users call it: inside a transformation, buffers are values of it, so that followed values can be written
into them (`out = zeros(3); out[0] = x`).

`zeros ones full empty eye` ask the innermost transformation; those "like" an array follow that array. Rules of operations
use `ops/create.py`, whose results are plain constants.
"""

import functools

import numpy as np

from ...dispatch import Layer, innermost_run, settled, snapshot
from ..ops import create


def _public(creation):
    creation.__module__ = __name__
    return creation


def _writable(make):
    @functools.wraps(make)
    def creation(*args, **params):
        run = innermost_run()
        y = make(*args, **params)
        return y if run is None else _within(run, y)

    return _public(creation)


def _writable_like(make):
    @functools.wraps(make)
    def creation(x, /, *args, **params):
        y = make(x, *args, **params)
        if type(x) is np.ndarray and type(y) is np.ndarray:  # the common case, without a question
            return y
        if not isinstance(x := settled(x), Layer):
            return snapshot(y)
        if x.run.closed:
            raise x.run.leaked()
        return _within(x.run if x.run.inner is None else x.run.inner, y)  # the trace that what is done with x belongs to

    return _public(creation)


def _within(run, y):
    """A new array of its own as a value of a transformation; `full` of a followed number is one already, but a view."""
    return snapshot(y) if isinstance(y, Layer) else run.constant(y)


zeros, ones, full, empty, eye = map(_writable, (create.zeros, create.ones, create.full, create.empty, create.eye))
zeros_like, ones_like, full_like, empty_like = map(
    _writable_like, (create.zeros_like, create.ones_like, create.full_like, create.empty_like)
)
