"""Complex parts, absolute value, conversion of dtypes, and the cut that stops derivatives.

None but the last is complex differentiable, so each has a jvp and a vjp in real-linear operations. Convention: cotangents
pair with tangents by Re(sum(ct * t)), so that grad(f)(z) is ∂f/∂x - i ∂f/∂y.
"""

import numpy as np

from ...dispatch import Layer, MethodError, describe, tree
from ..avals import Aval, dtype_of
from ..card import elementwise, operations
from ..roots import Root, at_convention
from ..samples import case, complex_normal, normal
from .arithmetic import add, multiply, over_or_zero, sign, square, subtract
from .compare import equal

real_or_complex = [case(normal(3)), case(complex_normal(3)), case(complex_normal(2, 3))]


def is_complex(x):
    """Test whether an array, layer value or number is of complex dtype."""
    return dtype_of(x).kind == "c"


@elementwise(numpy=("real",), c={"biuf": "{0}", "c": "real({0})"}, samples=real_or_complex)
def real(x, /):
    """Real part of each element."""


@elementwise(numpy=("imag",), c={"biuf": "0", "c": "imag({0})"}, samples=real_or_complex)
def imag(x, /):
    """Imaginary part of each element; zeros for real x."""


@elementwise(numpy=("conjugate",), kernel="conjugate", c={"biuf": "{0}", "c": "conj({0})"}, samples=real_or_complex)
def conj(x, /):
    """Complex conjugate of each element."""


def conjugated(x):
    """The complex conjugate as a factor: x itself if it is real (`conj` makes integers of booleans, as NumPy has it)."""
    return conj(x) if is_complex(x) else x


real.rule("jvp")(lambda dxs, y, x: real(dxs[0]))
real.rule("vjp")([lambda ct, y, x: ct])
imag.rule("jvp")(lambda dxs, y, x: imag(dxs[0]))
imag.rule("vjp")([lambda ct, y, x: multiply(ct, -1j) if is_complex(x) else multiply(ct, 0.0)])
conj.rule("jvp")(lambda dxs, y, x: conj(dxs[0]))
conj.rule("vjp")([lambda ct, y, x: conj(ct)])


def _unit(y, x):
    """conj(x) / |x|, 0 at 0: the direction in which |x| grows."""
    if is_complex(x):
        return over_or_zero(conj(x), y, "abs")
    if isinstance(x, Layer):
        at_convention("abs", equal(x, 0), x)
    return sign(x)


@elementwise(kernel="abs", numpy=("absolute",), c="abs({0})", samples=real_or_complex)
def abs(x, /):
    """Absolute value of each element, real. Convention: the slope at 0 is 0."""


abs.rule("jvp")(lambda dxs, y, x: real(multiply(dxs[0], _unit(y, x))) if is_complex(x) else multiply(dxs[0], _unit(y, x)))
abs.rule("vjp")([lambda ct, y, x: multiply(ct, _unit(y, x))])


def square_of_abs(x):
    """The square of the absolute value of each element, real."""
    return real(multiply(conj(x), x)) if is_complex(x) else square(x)


abs.rule("root")(lambda x: Root(square_of_abs, (x,)))


def _across(dx, y, x):
    """The part of dx across the complex direction y = x / |x|, over |x|: how that direction turns."""
    if not is_complex(x):
        return None
    return over_or_zero(subtract(dx, multiply(y, real(multiply(conj(y), dx)))), abs(x), "sign")


sign.rule("jvp")(lambda dxs, y, x: _across(dxs[0], y, x))
sign.rule("vjp")([lambda ct, y, x: _across(ct, conj(y), x)])


def _turn(x):
    """d angle = Re(dx * turn): -i conj(x) / |x|², 0 at 0."""
    return multiply(over_or_zero(conj(x), add(square(real(x)), square(imag(x))), "angle"), -1j)


@elementwise(c="angle({0})", samples=[case(complex_normal(3)), case(complex_normal(2, 3)), case(normal(3))])
def angle(x, /):
    """Angle of each element in the complex plane, radians, in [-π, π]; its slope at 0 counts as 0."""


angle.rule("jvp")(lambda dxs, y, x: real(multiply(dxs[0], _turn(x))))
angle.rule("vjp")([lambda ct, y, x: multiply(ct, _turn(x))])


@elementwise(kernel=None, numpy=("astype",), c="{0}", samples=[case(normal(3), dtype=np.dtype("complex128"))])
def astype(x, /, dtype, copy=True, device=None):
    """The elements converted to another dtype. Complex to real keeps the real part, under derivatives too.

    dtype: NumPy dtype or its name. copy: False to have x itself where nothing is to be converted. device: where the
    result lies, by default where x does. Conversion to an integer or boolean dtype has no derivative.
    """


def _same_kind(dx, dtype, device=None):
    dx = real(dx) if is_complex(dx) and np.dtype(dtype).kind != "c" else dx
    return astype(dx, dtype=dtype, device=device)


@astype.rule("jvp")
def astype_jvp(dxs, y, x, dtype, copy=True, device=None):
    return _same_kind(dxs[0], dtype, device) if np.dtype(dtype).kind in "fc" else None


def _converted_back(ct, y, x, dtype, copy=True, device=None):
    if np.dtype(dtype).kind not in "fc":
        return None
    if device is not None:
        ct = operations["to_device"].card.rules["transpose"][0](ct, y, x, device=device)
    return _same_kind(ct, dtype_of(x))


astype.rule("shape")(lambda x, dtype, copy=True, device=None: Aval(x.shape, np.dtype(dtype)))
astype.rule("vjp")([_converted_back])


@elementwise(differentiable=False, kernel=None, numpy=(), c="{0}", samples=[case(normal(3)), case(complex_normal(3))])
def stop_gradient(x, /):
    """x itself, as a constant for every derivative taken of it.

    x may be a tree, whose leaves are then constants.

    >>> import polyad as pa
    >>> float(pa.grad(lambda x: x * pa.stop_gradient(x))(3.0))
    3.0
    """


@stop_gradient.method
def stop_gradient_of_tree(x: object, /):
    if tree.structure(x) is tree.LEAF:
        raise MethodError(f"stop_gradient: {describe(x)} is no array and no tree of arrays; convert with polyad.asarray")
    return tree.map(stop_gradient, x)


@elementwise(
    partials=[None, 1], kernel=None, numpy=(), c="{0}",
    no_rule={"samples": "its slopes are not those of its value, which finite differences would see"},
)  # fmt: skip
def with_slopes_of(y, x, /):
    """The value of y with the derivatives of x, element by element: for values made in a way that has other slopes, or none.

    y, x: arrays of the same dtype; shapes broadcast. Returns y itself where nothing is followed. Raises ShapeError.

    >>> import polyad as pa
    >>> pa.value_and_grad(lambda x: pa.with_slopes_of(pa.round(x), x))(2.3)  # rounding, "straight through"
    (np.float64(2.0), np.float64(1.0))
    """
