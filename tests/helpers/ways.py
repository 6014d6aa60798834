"""The ways in which a function is run: eagerly, traced, in lanes, and all of it."""

import numpy as np
import pytest

import polyad as pa


def eagerly(f):
    return f


def traced(f):
    return lambda *args: pa.make_ir(f)(*args)(*args)


def in_lanes(f):
    """As one of two equal lanes."""
    first = lambda y: y[0]
    return lambda *args: pa.tree.map(first, pa.vmap(f)(*[np.stack([x, x]) for x in args]))


def in_a_trace_of_lanes(f):
    return in_lanes(lambda *args: pa.make_ir(f)(*args)(*args))


forms = pytest.mark.parametrize("form", [eagerly, traced, in_lanes, in_a_trace_of_lanes])


def shown(y):
    return pa.tree.map(lambda y: (y.dtype.type if hasattr(y, "dtype") else np.asarray(y).dtype.type, np.asarray(y).tolist()), y)
