"""Creation as users call it: inside a transformation, buffers are values of it, so that followed values can be written
into them (`out = zeros(3); out[0] = x`).

`zeros ones full empty eye` ask the innermost transformation; those "like" an array follow that array. Rules of operations
use `ops/create.py`, whose results are plain constants.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Layer, innermost_run, settled, snapshot
from ..ops import create

if TYPE_CHECKING:
    from ...dispatch.annotations import F


def _public(creation: Any) -> Any:
    creation.__module__ = __name__
    return creation


def _writable(make: F) -> F:
    @functools.wraps(make)
    def creation(*args, **params):
        run = innermost_run()
        y = make(*args, **params)
        return y if run is None else _within(run, y)

    return _public(creation)


def _writable_like(make: F) -> F:
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


zeros, ones, full = _writable(create.zeros), _writable(create.ones), _writable(create.full)
empty, eye = _writable(create.empty), _writable(create.eye)
zeros_like, ones_like = _writable_like(create.zeros_like), _writable_like(create.ones_like)
full_like, empty_like = _writable_like(create.full_like), _writable_like(create.empty_like)
