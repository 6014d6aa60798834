"""Polynomials as arrays of coefficients, the highest power first, as NumPy's `poly…` functions have them."""

import numpy as np

from ...dispatch import ShapeError, describe
from ..array_libraries import asarray_like
from ..avals import dtype_of, ndim_of, shape_of
from ..card import composite
from ..samples import case, complex_normal, normal
from .arithmetic import add, divide, multiply, negative
from .complex import astype
from .convolve import convolve
from .create import zeros_like
from .exponential import power
from .indexing import getitem
from .shape import concatenate, expand_dims, reshape


def _coefficients(name, p):
    if ndim_of(p) > 1:
        raise ShapeError(f"{name}: {describe(p)} has several axes; the coefficients of a polynomial have one")
    return reshape(p, shape=(-1,))


@composite(kernel=None, numpy=("polyval",), samples=[case(normal(4), normal(3)), case(complex_normal(3), normal(2, 2)),
                                                      case(normal(3), normal())])  # fmt: skip
def polyval(p, x, /):
    """The polynomial p[0] xⁿ⁻¹ + … + p[n-1] at each element of x, by Horner's rule. p: shape (n,). Raises ShapeError."""
    p = _coefficients("polyval", p)
    y = zeros_like(x)
    for i in range(shape_of(p)[0]):
        y = add(multiply(y, x), getitem(p, i))
    return y


def _aligned(name, p, q):
    p, q = _coefficients(name, p), _coefficients(name, q)
    n = max(shape_of(p)[0], shape_of(q)[0])
    pad = lambda a: a if shape_of(a)[0] == n else concatenate([zeros_like(a, shape=(n - shape_of(a)[0],)), a])
    return pad(p), pad(q)


_two_vectors = [case(normal(3), normal(5)), case(normal(3), normal(2)), case(complex_normal(2), normal(2))]


@composite(kernel=None, numpy=("polyadd",), samples=_two_vectors)
def polyadd(p, q, /):
    """The sum of two polynomials. p, q: coefficients, shape (n,), highest power first. Raises ShapeError."""
    return add(*_aligned("polyadd", p, q))


@composite(kernel=None, numpy=("polysub",), samples=_two_vectors)
def polysub(p, q, /):
    """The difference of two polynomials. p, q: coefficients, shape (n,), highest power first. Raises ShapeError."""
    p, q = _aligned("polysub", p, q)
    return add(p, negative(q))


@composite(kernel=None, numpy=("polymul",), samples=_two_vectors)
def polymul(p, q, /):
    """The product of two polynomials. p, q: coefficients, shape (n,), highest power first. Raises ShapeError."""
    return convolve(_coefficients("polymul", p), _coefficients("polymul", q))


@composite(kernel=None, numpy=("polyder",), samples=[case(normal(5)), case(normal(5), m=2), case(normal(3), m=0)])
def polyder(p, /, m=1):
    """The m-th derivative of a polynomial. p: coefficients, shape (n,), highest power first. Raises ShapeError."""
    p = _coefficients("polyder", p)
    for _ in range(m):
        n = shape_of(p)[0] - 1
        p = multiply(getitem(p, slice(max(n, 0))), asarray_like(np.arange(n, 0, -1), p))
    return p


@composite(kernel=None, numpy=("polyint",), samples=[case(normal(4)), case(normal(4), m=2), case(normal(3), k=2.5)])
def polyint(p, /, m=1, k=None):
    """The m-th antiderivative of a polynomial. k: constants of integration, one or a list of m; None for 0.

    p: coefficients, shape (n,), highest power first. Raises ShapeError.
    """
    p = _coefficients("polyint", p)
    constants = [0.0] * m if k is None else list(k) if isinstance(k, (list, tuple)) else [k] * m
    if len(constants) != m:
        raise ShapeError(f"polyint: {len(constants)} constants for {m} integrations")
    for c in constants:
        n = shape_of(p)[0]
        raised = divide(p, asarray_like(np.arange(n, 0, -1), p))
        p = concatenate([raised, add(zeros_like(raised, shape=(1,)), c)])
    return p


@composite(kernel=None, numpy=("vander",), samples=[case(normal(3)), case(normal(3), 4), case(normal(3), 2, increasing=True)])
def vander(x, /, N=None, increasing=False):
    """Powers of each element as rows: N of them (as many as elements unless given), the highest first, or last if
    `increasing`. x: one axis. Raises ShapeError."""
    if ndim_of(x) != 1:
        raise ShapeError(f"vander: {describe(x)} must have one axis")
    x = astype(x, dtype=np.promote_types(dtype_of(x), int))  # NumPy's choice, also for float32
    n = shape_of(x)[0] if N is None else N
    powers = range(n) if increasing else range(n - 1, -1, -1)
    columns = [expand_dims(_whole_power(x, k), -1) for k in powers]
    return concatenate(columns, axis=1) if columns else zeros_like(x, shape=(shape_of(x)[0], 0))


def _whole_power(x, k):
    return power(x, k) if k else add(zeros_like(x), 1)
