"""Derivatives: the forward and the reverse layer, what is derived from them, and their checking.

Conventions where mathematics leaves a choice are in both modes and every order those of tutorials/conventions.md, a table
whose rows are tests: at kinks of even functions 0, equal extrema share, infinite slopes of roots count as 0, steps are flat,
and the branch that was not taken counts for nothing. Cotangents of complex numbers pair by Re(sum(ct * t)), without
conjugation: the gradient of a real f is ∂f/∂x - i ∂f/∂y, Jacobians of a complex f are ∂f/∂z. Integers and booleans have no
tangent space: NoTangent, refused by grad.
"""

from . import lifting, policies, series_lifting
from .aot import aot
from .check import check_grads
from .checkpoint import checkpoint
from .coloring import column_coloring, star_coloring
from .closures import Closure, closure
from .custom import custom_jvp, custom_vjp
from .drawing import draw_tape
from .derived import derivative, grad, jvp, value_and_grad, vjp
from .forward import Dual
from .graphs import function, gradients, placeholder
from .hooks import grad_hook, hook_all
from .inputs import NoTangent
from .jacobians import gvp, hessian, hvp, jacfwd, jacobian, jacrev
from .linear import linear_transpose, linearize
from .policies import checkpoint_name
from .reverse import Reverse
from .sparse import sparse_hessian, sparse_jacobian
from .sparsity import Pattern, hessian_sparsity, jacobian_sparsity
from .tape import Tape
from .taylor import derivatives, jet
from .typed_calls import follow
from .typed_rules import no_derivative, opt_out
from .variables import no_grad, variable, zero_grad

__all__ = [
    "Dual", "NoTangent", "Reverse", "check_grads", "derivative", "derivatives", "draw_tape", "grad", "grad_hook", "gvp",
    "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "linear_transpose", "linearize", "lifting",
    "value_and_grad", "vjp",
    "Pattern", "column_coloring", "hessian_sparsity", "jacobian_sparsity", "sparse_hessian", "sparse_jacobian",
    "star_coloring",
    "checkpoint", "checkpoint_name", "custom_jvp", "custom_vjp", "policies",
    "Closure", "closure", "no_derivative", "opt_out",
    "Tape", "aot", "function", "gradients", "no_grad", "placeholder", "variable", "zero_grad",
]  # fmt: skip
