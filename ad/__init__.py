"""Derivatives: the forward and the reverse layer, what is derived from them, and their checking.

Conventions where mathematics leaves a choice, in both modes and every order (tested in tests/ad/test_cases.py):

    abs, sign, hypot, arctan2, angle at 0    slope 0
    sqrt, cbrt, x**y for 0 < y < 1, at 0     slope 0, hence sqrt(sum(x**2)) has the gradient 0 at 0
    x**0, 0**y                               slope 0
    maximum, minimum, clip, max, min         equal elements share the derivative equally
    floor, ceil, trunc, rint, floor_divide   slope 0 everywhere
    prod with zeros                          the product of the others; nothing is divided
    where                                    the branch not taken has derivative 0, even if its own is infinite or NaN
                                             (log, exp, sqrt, power, divide, …; a plain product 0 * inf stays NaN)
    complex                                  cotangents pair by Re(sum(ct * t)), without conjugation: the gradient of a
                                             real f is ∂f/∂x - i ∂f/∂y; Jacobians of a complex f are ∂f/∂z
    integers, booleans                       no tangent space: NoTangent, refused by grad
"""

from .check import check_grads
from .derived import derivative, grad, jvp, value_and_grad, vjp
from .forward import Dual
from .inputs import NoTangent
from .jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from .reverse import Reverse

__all__ = [
    "Dual", "NoTangent", "Reverse", "check_grads", "derivative", "grad", "hessian", "hvp", "jacfwd", "jacobian",
    "jacrev", "jvp", "value_and_grad", "vjp",
]  # fmt: skip
