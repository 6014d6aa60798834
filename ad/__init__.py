"""Derivatives: the forward and the reverse layer, what is derived from them, and their checking."""

from .check import check_grads
from .derived import (
    NoTangent,
    derivative,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    value_and_grad,
    vjp,
)
from .forward import Dual
from .reverse import Reverse

__all__ = [
    "Dual", "NoTangent", "Reverse", "check_grads", "derivative", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev",
    "jvp", "value_and_grad", "vjp",
]  # fmt: skip
