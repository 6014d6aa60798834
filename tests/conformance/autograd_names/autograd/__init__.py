"""A stand-in for the package autograd: its names, answered by polyad, so that its own test suite judges our derivatives.

How to run that suite, and what it says, is in ../../README.md. Nothing here is needed by polyad or by its users.
"""

from .builtins import dict, isinstance, list, tuple, type
from .core import primitive
from .differential_operators import (
    checkpoint, deriv, elementwise_grad, grad, grad_and_aux, hessian, hessian_tensor_product, holomorphic_grad, jacobian,
    make_ggnvp, make_hvp, make_jvp, make_vjp, tensor_jacobian_product, value_and_grad,
)  # fmt: skip
