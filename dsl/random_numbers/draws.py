"""Random numbers from a key: bits, uniform and normal numbers, integers, and what is made of one uniform number.

All are functions of the key and the shape alone. Numbers are made from 64-bit words by exact arithmetic where they are
uniform or integers, and else by the logarithms, cosines and special functions of the arrays' library, so that devices can
differ in the last bit. Parameters may be arrays that are followed: draws are differentiable functions of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import DTypeError, ShapeError, describe
from ..avals import dtype_of, is_number, shape_of
from ..ops.arithmetic import add, clip, multiply, negative, remainder, subtract
from ..ops.bitwise import bitwise_right_shift
from ..ops.compare import greater, less, where
from ..ops.complex import astype, stop_gradient
from ..ops.exponential import log, log1p, sqrt
from ..ops.special import ndtr, ndtri
from ..ops.trigonometric import cos, tan
from .keys import check_integer, check_one_key, listed, words

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


# ---------------------------------------------------------------------- what all share
def draw_shape(name, key, shape, *params):
    """The shape of a draw: as given, which the parameters must fit, or else theirs. Raises ShapeError, DTypeError."""
    return broadcast_shape(name, key, shape, params, [shape_of(p) for p in params])


def broadcast_shape(name, key, shape, params, shapes):
    """The shape of a draw whose parameters broadcast as arrays of these shapes do."""
    check_one_key(name, key)
    given = None if shape is None else listed(name, shape)
    try:
        common = np.broadcast_shapes(*shapes)
        if given is None or np.broadcast_shapes(common, given) == given:
            return common if given is None else given
    except ValueError:
        pass
    shown = " and ".join(describe(p) for p in params)
    target = "a common shape" if given is None else f"the shape {list(given)}"
    raise ShapeError(f"{name}: parameters {shown} do not broadcast to {target}; check them with .shape")


def floating(name, dtype):
    """A dtype of random real numbers. Raises DTypeError."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise DTypeError(f"{name}: dtype {dtype} is not a real floating one; draw float64 and convert it with .astype")
    return dtype


def half_open(words, dtype):
    """Uniform numbers in [0, 1): all multiples of 2**-53 (float32: 2**-24) with equal probability."""
    n = np.finfo(dtype).nmant + 1
    return multiply(astype(bitwise_right_shift(words, 64 - n), dtype=dtype), 2.0**-n)


def inside(key, shape, part=0):
    """Uniform numbers in (0, 1), both ends excluded: the odd multiples of 2**-53."""
    return multiply(add(astype(bitwise_right_shift(words(key, shape, part), 12), dtype=np.dtype("float64")), 0.5), 2.0**-52)


def placed(x, dtype, loc: Any = 0.0, scale: Any = 1.0):
    """loc + scale * x, with x in a dtype."""
    x = x if dtype_of(x) == dtype else astype(x, dtype=dtype)
    if not (is_number(scale) and scale == 1):
        x = multiply(x, scale)
    return x if is_number(loc) and loc == 0 else add(x, loc)


# ---------------------------------------------------------------------- bits, uniform, normal
def bits(key: Any, shape: Any = (), dtype: Any = np.uint64) -> AnyArray:
    """Random bits: unsigned integers, each of which is as likely as any other.

    key: a key. shape: int or tuple. dtype: uint8, uint16, uint32 or uint64. Raises DTypeError, ShapeError.
    """
    dtype = np.dtype(dtype)
    if dtype.kind != "u":
        raise DTypeError(f"bits: dtype {dtype} is not an unsigned integer; use randint, or .view of a uint64")
    made = words(key, draw_shape("bits", key, shape))
    width = 8 * dtype.itemsize
    return made if width == 64 else astype(bitwise_right_shift(made, 64 - width), dtype=dtype)


def uniform(key: Any, shape: Any = None, low: Any = 0.0, high: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
    """Numbers uniform in [low, high): multiples of 2**-53 (float32: 2**-24) of the length, above low.

    key: a key. shape: int or tuple; by default that of the limits. low, high: numbers or arrays that broadcast to the
    shape; differentiable. dtype: of the standard draw. Raises DTypeError, ShapeError.

    >>> import polyad as pa
    >>> pa.random.uniform(pa.random.key(0), 2).shape
    (2,)
    """
    shape, dtype = draw_shape("uniform", key, shape, low, high), floating("uniform", dtype)
    unit = (is_number(low) and low == 0) and is_number(high)
    return placed(half_open(words(key, shape), dtype), dtype, low, high if unit else subtract(high, low))


def standard_normal(key, shape, part=0):
    """Box and Muller's method: the tail reaches 8.57 standard deviations, as far as 53 bits of a uniform number do."""
    radius = sqrt(multiply(-2.0, log1p(negative(half_open(words(key, shape, part), np.float64)))))
    return multiply(radius, cos(multiply(2 * math.pi, half_open(words(key, shape, part + 1), np.float64))))


def normal(key: Any, shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
    """Numbers of the normal distribution, by the method of Box and Muller.

    key: a key. shape: int or tuple; by default that of loc and scale. loc, scale: mean and standard deviation, numbers or
    arrays that broadcast to the shape; differentiable. dtype: of the standard draw. Raises DTypeError, ShapeError.

    >>> import polyad as pa
    >>> k = pa.random.key(0)
    >>> float(pa.grad(lambda s: pa.random.normal(k, scale=s))(2.0)) == float(pa.random.normal(k))
    True
    """
    shape, dtype = draw_shape("normal", key, shape, loc, scale), floating("normal", dtype)
    return placed(standard_normal(key, shape), dtype, loc, scale)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = np.float64) -> AnyArray:
    """Numbers of the standard normal distribution that lie in [lower, upper], by its quantiles.

    key: a key. lower, upper: numbers or arrays, lower < upper, both differentiable, infinite ones too. shape: int or tuple;
    by default that of the limits. Needs SciPy. Raises DTypeError, ShapeError.
    """
    shape, dtype = draw_shape("truncated_normal", key, shape, lower, upper), floating("truncated_normal", dtype)
    flip = greater(lower, 0.0)  # in the upper tail quantiles have no digits: draw from the lower one
    low, high = where(flip, negative(upper), lower), where(flip, negative(lower), upper)
    first, last = ndtr(low), ndtr(high)
    z = clip(ndtri(add(first, multiply(inside(key, shape), subtract(last, first)))), low, high)
    return placed(where(flip, negative(z), z), dtype)


# ---------------------------------------------------------------------- integers and truth
def randint(key: Any, shape: Any = None, low: Any = 0, high: Any = 2, dtype: Any = np.int64) -> AnyArray:
    """Integers uniform in [low, high).

    key: a key. shape: int or tuple; by default that of the limits. low, high: integers or integer arrays, low < high, at most
    2**63 apart. A value's probability is off by (high - low) / 2**64 of itself at most. Raises DTypeError, ShapeError.

    >>> import polyad as pa
    >>> pa.random.randint(pa.random.key(0), 4, 1, 7)
    array([6, 3, 4, 1])
    """
    for name, limit in (("low", low), ("high", high)):
        check_integer("randint", name, limit)
    if is_number(low) and is_number(high) and not 0 < high - low <= 2**63:
        raise ShapeError(f"randint: {high - low} integers from low to high; give limits with 1 to 2**63 between them")
    made = words(key, draw_shape("randint", key, shape, low, high))
    number = astype(subtract(high, low), dtype=np.dtype("uint64")) if not is_number(high) or not is_number(low) else high - low
    return astype(add(astype(remainder(made, number), dtype=np.dtype("int64")), low), dtype=np.dtype(dtype))


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> AnyArray:
    """Booleans that are true with probability p.

    key: a key. p: number or array in [0, 1]; no derivative. shape: int or tuple; by default that of p. Raises ShapeError.
    """
    return less(half_open(words(key, draw_shape("bernoulli", key, shape, p)), np.float64), stop_gradient(p))


def rademacher(key: Any, shape: Any = (), dtype: Any = np.int64) -> AnyArray:
    """-1 and 1, each with probability one half, in a signed dtype."""
    ones = bitwise_right_shift(words(key, draw_shape("rademacher", key, shape)), 63)
    return subtract(multiply(2, astype(ones, dtype=np.dtype(dtype))), 1)


# ---------------------------------------------------------------------- functions of one uniform number
def _by_quantile(name, quantile, text):
    def draw(key: Any, shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
        shape, kind = draw_shape(name, key, shape, loc, scale), floating(name, dtype)
        return placed(quantile(inside(key, shape)), kind, loc, scale)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"""{text}

    key: a key. shape: int or tuple; by default that of loc and scale. loc, scale: numbers or arrays that broadcast to the
    shape; differentiable. dtype: of the standard draw. Raises DTypeError, ShapeError.
    """
    return draw


def _laplace(u):
    side = subtract(u, 0.5)
    sign = where(less(side, 0.0), 1.0, -1.0)
    return multiply(sign, log1p(multiply(sign, multiply(2.0, side))))


gumbel = _by_quantile(
    "gumbel", lambda u: negative(log(negative(log(u)))), "Numbers of the Gumbel distribution (of largest values)."
)
laplace = _by_quantile("laplace", _laplace, "Numbers of the Laplace distribution, density exp(-|x|) / 2.")
logistic = _by_quantile(
    "logistic", lambda u: subtract(log(u), log1p(negative(u))), "Numbers of the logistic distribution, that of logit(u)."
)
cauchy = _by_quantile(
    "cauchy", lambda u: tan(multiply(math.pi, subtract(u, 0.5))), "Numbers of the Cauchy distribution, density 1/π(1 + x²)."
)


def exponential(key: Any, shape: Any = None, scale: Any = 1.0, dtype: Any = np.float64) -> AnyArray:
    """Numbers of the exponential distribution.

    key: a key. shape: int or tuple; by default that of scale. scale: mean, number or array; differentiable. Raises
    DTypeError, ShapeError.
    """
    shape, dtype = draw_shape("exponential", key, shape, scale), floating("exponential", dtype)
    return placed(negative(log(inside(key, shape))), dtype, 0.0, scale)
