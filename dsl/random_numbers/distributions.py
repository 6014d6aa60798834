"""Random numbers of the gamma family, counts and vectors, from the draws of `draws.py`.

Gamma numbers are quantiles of one uniform number, so that they are differentiable by their shape parameter (implicitly:
Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, NeurIPS 2018). They need SciPy's special functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import ndim_of, shape_of
from ..ops.activation import expit
from ..ops.arithmetic import add, ceil, divide, floor, maximum, multiply, square, subtract
from ..ops.compare import greater, less, where
from ..ops.complex import astype, stop_gradient
from ..ops.exponential import log, power, sqrt
from ..ops.factorize import cholesky
from ..ops.gamma import gammaincc, gammaincinv
from ..ops.linalg import matmul
from ..ops.shape import expand_dims, squeeze
from ..ops.softmax import softmax
from ..ops.special import ndtri
from .draws import broadcast_shape, draw_shape, floating, inside, placed, standard_normal

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


def _log_gamma(key, a, shape, part=0):
    """Logarithms of gamma numbers of shape a, exact for small a too: those of shape a + 1, and log(u) / a."""
    larger = gammaincinv(add(a, 1.0), inside(key, shape, part))
    return add(log(larger), divide(log(inside(key, shape, part + 1)), a))


def gamma(key: Any, a: Any, shape: Any = None, scale: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
    """Numbers of the gamma distribution, density x**(a-1) exp(-x) / Γ(a).

    key: a key. a: shape parameter, positive; scale: of the numbers; arrays or numbers, both differentiable. shape: int or
    tuple; by default that of a and scale. dtype: of the draw of scale 1. Raises DTypeError, ShapeError.

    >>> import polyad as pa
    >>> bool(pa.random.gamma(pa.random.key(0), 2.0) > 0)
    True
    """
    shape, dtype = draw_shape("gamma", key, shape, a, scale), floating("gamma", dtype)
    larger, u = gammaincinv(add(a, 1.0), inside(key, shape)), inside(key, shape, 1)
    return placed(multiply(larger, power(u, divide(1.0, a))), dtype, 0.0, scale)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = np.float64) -> AnyArray:
    """Numbers of the beta distribution, density proportional to x**(a-1) (1-x)**(b-1).

    key: a key. a, b: positive numbers or arrays, differentiable. shape: int or tuple; by default that of a and b. Raises
    DTypeError, ShapeError.
    """
    shape, dtype = draw_shape("beta", key, shape, a, b), floating("beta", dtype)
    return placed(expit(subtract(_log_gamma(key, a, shape), _log_gamma(key, b, shape, 2))), dtype)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = np.float64) -> AnyArray:
    """Vectors of the Dirichlet distribution: non-negative numbers along a last axis, which add up to 1.

    key: a key. alpha: positive array of shape (…, n), differentiable. shape: int or tuple, of the vectors, to which alpha's
    leading axes broadcast; by default those. Returns shape (*shape, n). Raises DTypeError, ShapeError.
    """
    shape, dtype = _vector_shape("dirichlet", key, shape, alpha), floating("dirichlet", dtype)
    return placed(softmax(_log_gamma(key, alpha, (*shape, shape_of(alpha)[-1]))), dtype)


def _vector_shape(name, key, shape, vector, *others):
    """The shape of vectors, given or from the leading axes of the parameters (others: the shapes of further ones)."""
    if not ndim_of(vector):
        raise ShapeError(f"{name}: {describe(vector)} has no axis; give a vector")
    return broadcast_shape(name, key, shape, [vector], [shape_of(vector)[:-1], *others])


def student_t(key: Any, df: Any, shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
    """Numbers of Student's t distribution.

    key: a key. df: degrees of freedom, positive; loc, scale: numbers or arrays; all differentiable. shape: int or tuple; by
    default that of the parameters. Raises DTypeError, ShapeError.
    """
    shape, dtype = draw_shape("student_t", key, shape, df, loc, scale), floating("student_t", dtype)
    half = divide(df, 2.0)
    larger, u = gammaincinv(add(half, 1.0), inside(key, shape, 2)), inside(key, shape, 3)
    mean_square = divide(multiply(larger, power(u, divide(1.0, half))), half)
    return placed(divide(standard_normal(key, shape), sqrt(mean_square)), dtype, loc, scale)


REACH = 32  # further than a quantile lies from its approximation
NORMAL_FROM = 1e6  # mean from which the approximation is off by less than 0.01, and SciPy's function can be off by more


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = np.int64) -> AnyArray:
    """Counts of the Poisson distribution, by its quantiles.

    key: a key. lam: mean, number or array, not negative; no derivative. shape: int or tuple; by default that of lam. dtype:
    an integer one. Needs SciPy. Raises ShapeError.
    """
    shape, lam = draw_shape("poisson", key, shape, lam), stop_gradient(lam)
    u = inside(key, shape)
    z = ndtri(u)  # Cornish and Fisher's approximation, then bisection
    guess = add(add(lam, multiply(sqrt(lam), z)), divide(subtract(square(z), 1.0), 6.0))
    low, high = maximum(floor(subtract(guess, REACH)), -1.0), maximum(floor(add(guess, REACH)), 0.0)
    for _ in range((2 * REACH).bit_length() - 1):
        middle = maximum(floor(multiply(0.5, add(low, high))), 0.0)
        below = less(gammaincc(add(middle, 1.0), lam), u)
        low, high = where(below, middle, low), where(below, high, middle)
    return astype(where(greater(lam, NORMAL_FROM), ceil(subtract(guess, 0.5)), high), dtype=np.dtype(dtype))


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = np.float64) -> AnyArray:
    """Vectors of the normal distribution with a covariance matrix.

    key: a key. mean: array of shape (…, n); cov: symmetric positive definite, shape (…, n, n); both differentiable. shape: int
    or tuple, of the vectors, to which the leading axes broadcast; by default those. Returns shape (*shape, n). Raises
    DTypeError, ShapeError.
    """
    n = shape_of(mean)[-1:]
    if ndim_of(cov) < 2 or shape_of(cov)[-2:] != n * 2:
        raise ShapeError(f"multivariate_normal: cov {describe(cov)} is not a matrix for the mean {describe(mean)}")
    shape = _vector_shape("multivariate_normal", key, shape, mean, shape_of(cov)[:-2])
    dtype = floating("multivariate_normal", dtype)
    z = placed(standard_normal(key, (*shape, *n)), dtype)
    return add(mean, squeeze(matmul(cholesky(cov), expand_dims(z, -1)), -1))
