"""NumPy's own functions for operations that have a body in other operations, where they are several times faster.

Layers and other devices follow the body; plain NumPy arrays take these. What NumPy's function does not do as the body does
(a parameter that it lacks, an array of another kind among the parameters) goes to the body here too.
"""

import numbers

import numpy as np

from ..dispatch import isa
from ..dsl import operations


def _plain(*values):
    """Return whether parameters are numbers and NumPy arrays, or left out."""
    return all(v is None or isa(v, (numbers.Number, np.generic)) or type(v) is np.ndarray for v in values)


def _elsewhere(value):
    """Return whether a parameter is an array that NumPy would hand back to the operation."""
    return not (_plain(value) or isinstance(value, (list, tuple, slice)))


def _unless(function, leave):
    """A kernel that is `function`, but the operation's body where `leave(*args, **params)` is true."""
    body = operations[function.__name__].card.body

    def run(*args, **params):
        return body(*args, **params) if leave(*args, **params) else function(*args, **params)

    return run


def count_nonzero(x, axis=None, keepdims=False):
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims), np.intp)[()]


def nonzero(x, size, fill_value):
    return np.nonzero(x)


def flatnonzero(x, size, fill_value):
    return np.flatnonzero(x)


def bincount(x, weights, minlength, size):
    return np.bincount(x, weights, minlength)


def unique(x, size, fill_value, sorted, **params):
    return np.unique(x, **params)


def _sized(x, size=None, **params):
    return size is not None


def clip(x, min, max):
    return np.clip(x, min, max)  # by position: NumPy 2.0 calls them a_min and a_max


LARGE = 4096  # elements, from which on one pass of `clip` outweighs what the call costs


def _unbounded(x, min, max):
    """Few elements, no limit at all, limits or numbers of another kind."""
    if type(x) is not np.ndarray or x.size < LARGE or x.dtype.kind not in "iuf":
        return True
    return not _plain(min, max) or (min is None and max is None)


def _uneven(x, y, axis):
    """Not two arrays of one length along the axis, or of numbers for which BLAS has no inner product."""
    if not (type(x) is type(y) is np.ndarray and x.dtype.char in "fdFD" and y.dtype.char in "fdFD"):
        return True
    within = isa(axis, int) and all([-a.ndim <= axis < a.ndim for a in (x, y)])
    return not within or x.shape[axis] != y.shape[axis]


def _no_order(x, *q, **params):
    """Nothing to put in order, or complex numbers: an error of the body."""
    return not np.size(x) or np.asarray(x).dtype.kind == "c"


def shortcuts():
    """name -> function, for NumPy arrays."""
    same = ("flip", "diagonal", "trace", "diag", "nanmax", "nanmin")  # with equal parameters
    ordered = ("median", "quantile", "nanmedian", "nanquantile")
    return {
        **{name: getattr(np, name) for name in same},
        **{name: _unless(getattr(np, name), _no_order) for name in ordered},
        "outer": np.outer,
        "clip": _unless(clip, _unbounded),
        "vecdot": _unless(np.vecdot, _uneven),
        "count_nonzero": count_nonzero,
        "repeat": _unless(np.repeat, lambda x, repeats, axis: _elsewhere(repeats)),
        "delete": _unless(np.delete, lambda x, obj, axis: _elsewhere(obj)),
        **{f.__name__: _unless(f, _sized) for f in (nonzero, flatnonzero, unique)},
        "bincount": _unless(
            bincount, lambda x, weights, size, **params: size is not None or not _plain(weights) or np.size(x) == 0
            or np.ndim(x) != 1 or np.iscomplexobj(weights) or np.asarray(x).dtype.kind not in "iub"
        ),
        "interp": _unless(np.interp, lambda x, xp, fp, left, right, period: not _plain(left, right, period)
                          or np.size(xp) == 0 or np.ndim(fp) != 1),
    }  # fmt: skip
