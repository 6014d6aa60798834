"""What both checkers need: agreement of results, random arguments, and errors that say what they are about."""

from contextlib import contextmanager

import numpy as np

from ..dispatch import isa, tree
from ..dsl.avals import aval_of


@contextmanager
def naming(what):
    """Whatever goes wrong inside is an AssertionError that begins with `what`."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {str(error).strip()}") from None
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def agree(found, expected, rtol=1e-12, atol=1e-14, exact=False):
    """Two arrays (or trees of them) of equal shape, dtype and (nearly) equal elements; NaN equals NaN."""
    pairs = list(zip(tree.leaves(found), tree.leaves(expected), strict=True))
    for x, y in pairs:
        if exact and (np.shape(x) != np.shape(y) or aval_of(x) != aval_of(y)):
            raise AssertionError(f"{aval_of(x)} instead of {aval_of(y)}")
        if not (type(x) is type(y) and isa(x, (np.ndarray, np.generic)) and np.array_equal(x, y)):  # which takes a tenth
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def raises(kind, f, x):
    """Return whether f(x) raises an exception of this kind."""
    try:
        f(x)
    except kind:
        return True
    return False


def inexact(x):
    return isa(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"


def random_like(rng, x):
    """A random array of x's shape and dtype; x itself if it has no tangents."""
    if not inexact(x):
        return x
    drawn = rng.standard_normal(np.shape(x))
    if x.dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(drawn).astype(x.dtype)[()]
