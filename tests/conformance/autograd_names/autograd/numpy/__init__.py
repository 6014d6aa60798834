"""NumPy itself: its functions follow polyad's values. By our names goes only what NumPy gives nobody else to answer for:
lists of followed values, and brackets."""

from importlib import import_module as _import

import numpy as _numpy
from numpy import *

import polyad as _pa

fft, linalg, random = [_import(f"{__name__}.{name}") for name in ("fft", "linalg", "random")]  # not NumPy's of these names
__version__ = _numpy.__version__
array, r_, c_ = _pa.array, _pa.r_, _pa.c_


def of_lists(function, places=1):
    """A function of NumPy's whose first arguments may be lists of followed values."""
    listed = lambda x: _pa.array(x) if isinstance(x, (list, tuple)) else x
    return lambda *args, **kwargs: function(*map(listed, args[:places]), *args[places:], **kwargs)


mean, std, var, append = of_lists(_numpy.mean), of_lists(_numpy.std), of_lists(_numpy.var), of_lists(_numpy.append, 2)
linalg.norm = of_lists(_numpy.linalg.norm)


def where(condition, *choices, **named):
    """autograd takes the arguments by keyword too."""
    return _numpy.where(condition, *choices, *named.values())


def make_diagonal(x, offset=0, axis1=-1, axis2=-2):
    """Matrices with these diagonals."""
    return x[..., None] * _numpy.eye(x.shape[-1])


def __getattr__(name):
    return getattr(_numpy, name)
