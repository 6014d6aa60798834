"""Derivatives: the forward and the reverse layer, what is derived from them, and their checking.

Conventions where mathematics leaves a choice are in both modes and every order those of tutorials/conventions.md, a table
whose rows are tests: at kinks of even functions 0, equal extrema share, infinite slopes of roots count as 0, steps are flat,
and the branch that was not taken counts for nothing. Cotangents of complex numbers pair by Re(sum(ct * t)), without
conjugation: the gradient of a real f is ∂f/∂x - i ∂f/∂y, Jacobians of a complex f are ∂f/∂z. Integers and booleans have no
tangent space: NoTangent, refused by grad.
"""

from . import control
from .checkpointing import policies
from .taylor import control as taylor_control
from .styles.aot import aot
from .tools.check import check_grads
from .checkpointing.checkpoint import checkpoint
from .sparsity.coloring import column_coloring, star_coloring
from .closures import Closure, closure
from .custom.functions import custom_jvp, custom_vjp
from .tools.drawing import draw_tape
from .derived import derivative, grad, jvp, value_and_grad, vjp
from .forward.duals import Dual
from .styles.graphs import function, gradients, placeholder
from .tools.hooks import grad_hook, hook_all
from .inputs import NoTangent
from .jacobians import gvp, hessian, hvp, jacfwd, jacobian, jacrev
from .linear import linear_transpose, linearize
from .checkpointing.policies import checkpoint_name
from .reverse.tape import Reverse
from .reverse import targets as reverse_targets
from .forward import targets as forward_targets
from .sparsity.matrices import sparse_hessian, sparse_jacobian
from .sparsity.detection import Pattern, hessian_sparsity, jacobian_sparsity
from .styles.gradient_tape import Tape
from .taylor.jets import derivatives, jet
from .typed_calls import follow
from .rules.by_type import no_derivative, opt_out
from .styles.variables import no_grad, variable, zero_grad

__all__ = [
    "Dual", "NoTangent", "Reverse", "check_grads", "derivative", "derivatives", "draw_tape", "grad", "grad_hook", "gvp",
    "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "linear_transpose", "linearize",
    "value_and_grad", "vjp",
    "Pattern", "column_coloring", "hessian_sparsity", "jacobian_sparsity", "sparse_hessian", "sparse_jacobian",
    "star_coloring",
    "checkpoint", "checkpoint_name", "custom_jvp", "custom_vjp", "policies",
    "Closure", "closure", "no_derivative", "opt_out",
    "Tape", "aot", "function", "gradients", "no_grad", "placeholder", "variable", "zero_grad",
]  # fmt: skip
