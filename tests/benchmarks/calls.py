"""What dispatch adds to a call: `polyad.add` against `numpy.add`, by kinds of arguments."""

import numpy as np
from timing import ratio

import polyad as pa


def rows():
    x, y = np.ones(3), np.ones((100, 100))
    diagonal = pa.Diagonal(np.ones(3))
    yield "add(x, x), 3 elements", "numpy.add", ratio(lambda: pa.add(x, x), lambda: np.add(x, x)), 1.6
    yield "add(x, 1.0), 3 elements", "numpy.add", ratio(lambda: pa.add(x, 1.0), lambda: np.add(x, 1.0)), None
    yield "sin(x), 3 elements", "numpy.sin", ratio(lambda: pa.sin(x), lambda: np.sin(x)), None
    yield "sum(x, axis=0), 3 elements", "numpy.sum", ratio(lambda: pa.sum(x, axis=0), lambda: np.sum(x, axis=0)), None
    yield "add(y, y), 10⁴ elements", "numpy.add", ratio(lambda: pa.add(y, y), lambda: np.add(y, y)), None
    yield "Diagonal + Diagonal", "numpy.add", ratio(lambda: diagonal + diagonal, lambda: np.add(x, x)), None
