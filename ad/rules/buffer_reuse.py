"""Memory that is used again within one forward pass over a gradient, for large arrays.

The pages of memory that is asked for anew are made when they are first written to, which costs more than a sum or a product
of the numbers in them. Forward over reverse makes several times as many arrays as the gradient, and most live for two or three
operations. So while it is under way a store holds the arrays that it has made, and whatever nobody else holds any more, as the
count of references tells, is written to again. The store ends with the pass.
"""

import functools
import sys
import threading
import weakref
from typing import Any

import numpy as np

from .ownership import COUNTS, references, writeable

LEAST = 1 << 18  # bytes; below, a call costs more than its memory
REACH = 12  # arrays that are looked at, those made last first: they are the ones that are left first


class Store:
    """Arrays by shape and dtype, in the order in which they were given out. made: how many since all were looked at."""

    __slots__ = ("__weakref__", "arrays", "ended", "ids", "limit", "made")

    def __init__(self):
        self.arrays, self.ids, self.made, self.limit, self.ended = {}, set(), 0, 2, False

    def end(self):
        """Hold nothing and give out nothing from here on, whoever holds the store still, as the frames of an error do."""
        self.ended = True
        self.arrays, self.ids = {}, set()

    def take(self, x):
        """An array of x's shape and dtype whose elements are of no use to anybody."""
        key = x.shape, x.dtype
        found = self._unused(key)
        if found is None:
            if self.made >= self.limit:
                self._tidy(key)
                found = self._unused(key)
            if found is None:
                found = np.empty(*key)
                self.ids.add(id(found))
                self.made += 1
        self.arrays.setdefault(key, {})[id(found)] = found  # the last one given out
        return found

    def _unused(self, key):
        """One of those given out last, taken from its place; or None."""
        arrays = self.arrays.get(key, {})
        for n, name in enumerate(reversed(arrays)):
            if n == REACH:
                break
            if _unused(arrays[name], key):
                return arrays.pop(name)
        return None

    def _tidy(self, key):
        """Give back what is unused, and bring such arrays of shape and dtype `key` within reach."""
        for other, arrays in list(self.arrays.items()):
            for name in [name for name in arrays if _unused(arrays[name], other)]:
                found = arrays.pop(name)
                if other == key:
                    arrays[name] = found
                else:
                    self.ids.discard(name)
            if not arrays:
                del self.arrays[other]
        self.made, self.limit = 0, len(self.ids) // 8 + 2


def _unused(x, key):
    """Return whether x is held by the store and this call alone, and is as it was made."""
    return _references(x) == _OF_STORED and writeable(x) and (x.shape, x.dtype) == key and x.flags.c_contiguous


def _references(x):
    return references(x)


def _of_stored():
    arrays = {0: np.empty(0)}
    return _inside(arrays[0])


def _inside(x):
    return _references(x)


_OF_STORED = _of_stored()


class _Here(threading.local):
    store = None  # weak reference to that of the pass under way in this thread


_here: Any = _Here()


def begin():
    """A store for the pass under way, or None where one outside of it has one. It is in use for as long as it is held."""
    counts = COUNTS and getattr(sys, "_is_gil_enabled", lambda: True)()
    if not counts or _store() is not None:
        return None
    made = Store()
    _here.store = weakref.ref(made)
    return made


def _store():
    known = _here.store
    store = None if known is None else known()
    return None if store is None or store.ended else store


def times_stored(x):
    """Count how often the store holds an array: 1 or 0."""
    store = _store()
    return int(store is not None and id(x) in store.ids)


def computed(op, *xs):
    """`op(*xs)`, in memory that is in use no more where the arrays are large and NumPy's, of one shape and dtype."""
    store = _store()
    if store is not None:
        kernel, model = _kernel(op.generic.namespace, xs), _model(xs)
        if kernel is not None and model is not None and _keeps(kernel, model.dtype, len(xs)):
            try:
                return kernel(*xs, out=store.take(model))
            except Exception:  # noqa: S110  again on the usual path, which explains the error
                pass
    return op.generic.spread(*xs)


def _kernel(names, xs):
    """NumPy's function, if the operation's entry would call it for these."""
    array = names["__first"]
    if array is not np.ndarray:
        return None
    if len(xs) == 1:
        fits = type(xs[0]) is array
    else:
        a, b = map(type, xs)
        fits = a is array and (b is names["__second"] or b in names["__right"]) or b is array and a in names["__left"]
    return names["__kernel"] if fits else None


def _model(xs):
    """The array whose shape, dtype and order the result has, or None."""
    model = None
    for x in xs:
        if type(x) is np.ndarray:
            if model is None:
                model = x
            elif x.shape != model.shape or x.dtype is not model.dtype:
                return None
        elif type(x) is not float:
            return None
    if model is None or model.nbytes < LEAST or model.dtype.kind not in "fc":
        return None
    return model if model.ndim == 1 or model.flags.c_contiguous else None


@functools.cache
def _keeps(kernel, dtype, count):
    """Return whether a function acts on each element by itself, a ufunc without axes of its own, and its result has the dtype
    of its arguments."""
    if not isinstance(kernel, np.ufunc) or kernel.signature is not None or kernel.nout != 1 or kernel.nin != count:
        return False
    return kernel(*[np.empty(0, dtype)] * count).dtype is dtype
