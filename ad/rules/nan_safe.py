"""Zero cotangents that stay zero whatever they are multiplied with: the second walk back of a gradient that came out NaN.

The branch of `where` that was not taken has zero cotangents, and may hold infinities and NaN: at 0, 0 · log(0) on the way back
through `x * log(x)` spoils a gradient that is well defined. Products that mask zeros are right there, and twice as dear, so
they are used only where the plain ones have lost something: the walk (ad/reverse/walk.py) asks once, at its end, for NaN.
In a trace there are no numbers to ask, and compiled code masks at next to no cost: there all walks are careful.
"""

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite

from ...dsl import multiply
from ...dsl.ops.arithmetic import masked_product

_masking = ContextVar("polyad_masking", default=False)


class Product:
    """The product of rules: `times(ct, slope)`. Where nothing anywhere is careful it is the plain one, for speed; else each
    context has its own."""

    def __init__(self):
        self.times, self._careful, self._lock = multiply, 0, threading.Lock()

    @property
    def masks(self):
        """Return whether rules mask zero cotangents here."""
        return _masking.get()

    @contextmanager
    def masking(self, masks=True):
        """Rules mask zero cotangents while this is entered; or do not, inside of what does."""
        self._enter(1)
        token = _masking.set(masks)
        try:
            yield
        finally:
            _masking.reset(token)
            self._enter(-1)

    def _enter(self, change):
        with self._lock:
            self._careful += change
            self.times = _chosen if self._careful else multiply


def _chosen(ct, slope):
    masks = _masking.get() and not (type(slope) in (int, float) and isfinite(slope))  # nothing to be lost by these
    return (masked_product if masks else multiply)(ct, slope)


product = Product()
may_repeat = ContextVar("polyad_walk_may_repeat", default=None)  # () -> whether the walk under way may be followed by a second


class Once(BaseException):
    """A walk that may be repeated met what must happen once: it begins again, as the careful one."""


def walk_once():
    """Called before something that is to happen once per walk back."""
    again = may_repeat.get()
    if again is not None and not product.masks and again():
        raise Once


def carefully(walk):
    """Return what `walk()`, a walk back, gives where rules mask zero cotangents."""
    with product.masking():
        return walk()
