"""Signs, neighbours and rounding of floating numbers."""

import numpy as np

from ..avals import dtype_of
from ..card import composite, elementwise
from ..samples import case, complex_normal, integers, normal
from .arithmetic import divide, multiply, rint
from .compare import equal, where
from .complex import astype, stop_gradient


@elementwise(differentiable=False, c="signbit({0})", samples=[case(normal(3)), case(normal(2, 3)), case(normal())])
def signbit(x, /):
    """Test whether the element's sign is minus, also that of -0.0 and NaN; boolean. x: real floating array."""


@elementwise(
    partials=[lambda z, x, y: where(equal(signbit(x), signbit(y)), 1.0, -1.0), None],
    c="copysign({0}, {1})",
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), -2.0)],
)
def copysign(x, y, /):
    """|x| with the sign of y (also of -0.0 and NaN), element by element. x, y: real arrays. Its slope by y counts as 0."""


@elementwise(
    partials=[1, None],
    c="nextafter({0}, {1})",
    samples=[case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), 0.0)],
)
def nextafter(x, y, /):
    """The floating number next to x in the direction of y, element by element. x, y: real floating arrays."""


@composite(
    kernel=None,
    numpy=("round", "around"),
    samples=[
        case(normal(3)), case(normal(2, 3), decimals=1), case(complex_normal(3)), case(integers(3, high=99), decimals=-1),
    ],
)  # fmt: skip
def round(x, /, decimals=0):
    """Nearest number of so many decimals, element by element, halves to the even one, in x's dtype; integers stay (booleans
    become float16, as NumPy has it).

    decimals: digits after the point; below zero, powers of ten before it. Its derivative is zero.
    """
    kind = dtype_of(x).kind
    if kind == "b":
        return astype(x, dtype=np.float16)
    if kind in "iu" and (not decimals or decimals > 0):
        return stop_gradient(x)
    if not decimals:
        return rint(x)
    scale, (there, back) = 10.0 ** abs(decimals), (multiply, divide) if decimals > 0 else (divide, multiply)
    y = back(rint(there(x, scale)), scale)
    return y if kind in "fc" else astype(y, dtype=dtype_of(x))
