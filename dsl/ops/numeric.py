"""NumPy's smaller functions of each element: degrees, parts of floating numbers, steps, whole numbers."""

import math

import numpy as np

from ..avals import Aval, dtype_of, is_number
from ..card import composite, elementwise, opaque
from ..samples import case, integers, normal, positives
from .arithmetic import divide, multiply, negative, sign, square, subtract, trunc
from .compare import equal, isinf, less, where
from .complex import abs, astype
from .create import ones_like
from .exponential import power
from .signs import copysign
from .special import horner
from .trigonometric import cos

real = [case(normal(3)), case(normal(2, 3)), case(normal())]
DEGREE = math.pi / 180


@elementwise(partials=[lambda y, x: DEGREE], c="{0} * 0.017453292519943295", samples=real)
def deg2rad(x, /):
    """Degrees to radians, element by element. x: real array."""


@elementwise(partials=[lambda y, x: 1 / DEGREE], c="{0} * 57.29577951308232", samples=real)
def rad2deg(x, /):
    """Radians to degrees, element by element. x: real array."""


@elementwise(partials=[lambda y, x: DEGREE], c="{0} * 0.017453292519943295", samples=real)
def radians(x, /):
    """Degrees to radians, as `deg2rad`. x: real array."""


@elementwise(partials=[lambda y, x: 1 / DEGREE], c="{0} * 57.29577951308232", samples=real)
def degrees(x, /):
    """Radians to degrees, as `rad2deg`. x: real array."""


@elementwise(partials=[lambda y, x: sign(x)], c="fabs({0})", samples=real)
def fabs(x, /):
    """Absolute value in floating point, element by element. x: real array. Convention: the slope at 0 is 0."""


def _sinc_slope(y, x):
    """(cos πx - sinc x) / x, by its power series near 0."""
    z = multiply(math.pi, x)
    near = less(abs(z), 1.0)
    c = [(-1) ** k * 2 * k * math.pi / math.factorial(2 * k + 1) for k in range(1, 10)]
    small = where(near, z, 0.0)
    series = multiply(small, horner(square(small), c))
    return where(near, series, divide(subtract(cos(z), y), where(near, 1.0, x)))


@elementwise(partials=[_sinc_slope], c="sinc({0})", samples=[*real, case(lambda rng: rng.uniform(-0.2, 0.2, 3))])
def sinc(x, /):
    """sin(πx) / (πx), 1 at 0, element by element. x: real array."""


@elementwise(
    partials=[None, lambda z, x, y: astype(equal(x, 0), dtype=dtype_of(z))],
    c="heaviside({0}, {1})",
    samples=[case(normal(3), normal(3)), case(normal(2, 3), 0.5), case(normal(2, 1), normal(3))],
)
def heaviside(x, y, /):
    """0 where x < 0, 1 where x > 0, and y where x is 0, element by element. Its slope by x counts as 0."""


# ---------------------------------------------------------------------- parts of floating numbers
@elementwise(
    partials=[lambda y, x, n: ldexp(ones_like(x), n), None],
    c="ldexp({0}, {1})",
    samples=[case(normal(3), integers(3, high=4)), case(normal(2, 3), 3), case(normal(), integers(2, low=-3, high=3))],
)
def ldexp(x, n, /):
    """x times 2 to the power n, exactly, element by element. x: real array; n: integer array.

    >>> import polyad as pa
    >>> float(pa.grad(lambda x: pa.ldexp(x, 3))(0.0))
    8.0
    """


@opaque(samples=[case(normal(3)), case(normal(2, 3)), case(normal())])
def frexp(x, /):
    """(m, n), floating and integer, with x = m * 2**n and 0.5 <= |m| < 1 (m = x and n = 0 at 0, inf, NaN).

    x: real array. The derivative of m is 2**-n. Raises DTypeError.
    """


@frexp.rule("shape")
def frexp_shape(x):
    m, n = np.frexp(np.ones((), x.dtype))
    return Aval(x.shape, m.dtype), Aval(x.shape, n.dtype)


@frexp.rule("jvp")
def frexp_jvp(dxs, y, x):
    return ldexp(dxs[0], negative(y[1])), None


frexp.rule("vjp")([lambda ct, y, x: None if ct[0] is None else ldexp(ct[0], negative(y[1]))])
frexp.rule("batch")(lambda size, xs, batched: frexp(*xs))
frexp.rule("depends")("->,")


@composite(kernel=None, numpy=("modf",), samples=[case(normal(3)), case(normal(2, 3))])
def modf(x, /):
    """(fraction, whole), both of x's sign and floating dtype, whose sum is x.

    x: real array; integers count as floating numbers. The derivative goes to the fraction; that of the whole part is 0.
    Raises DTypeError.
    """
    if dtype_of(x).kind in "biu":
        x = astype(x, dtype=np.result_type(dtype_of(x), np.float16))  # as NumPy's ufuncs convert them
    whole = trunc(x)
    endless = isinf(x)
    return copysign(subtract(where(endless, 0.0, x), where(endless, 0.0, whole)), x), whole


@composite(
    kernel=None,
    numpy=("float_power",),
    samples=[case(positives(3), normal(3)), case(integers(3, low=1), -2), case(positives(2, 3), 0.5)],
)
def float_power(x, y, /):
    """x to the power y in float64 (complex128 for complex x or y), element by element; see `power` for conventions."""
    wide = np.dtype("complex128" if "c" in (dtype_of(x).kind, dtype_of(y).kind) else "float64")
    y = wide.type(y).item() if is_number(y) else astype(y, dtype=wide)
    return power(astype(x, dtype=wide), y)


# ---------------------------------------------------------------------- whole numbers
whole = [case(integers(4, low=-9), integers(4, low=1)), case(integers(2, 3), 6), case(integers(), integers(2))]


@elementwise(differentiable=False, c="gcd({0}, {1})", samples=whole)
def gcd(x, y, /):
    """Greatest common divisor, not negative, element by element. x, y: integer arrays, shapes broadcast."""


@elementwise(differentiable=False, c="lcm({0}, {1})", samples=whole)
def lcm(x, y, /):
    """Least common multiple, not negative, element by element. x, y: integer arrays, shapes broadcast."""
