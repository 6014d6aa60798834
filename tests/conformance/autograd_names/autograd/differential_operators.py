"""autograd's operators: each one call of ours, or of the two maps in `core`."""

import numpy as np

import polyad as pa

from . import core
from .core import vspace
from .wrap_util import unary_to_nary

make_vjp = unary_to_nary(core.make_vjp)
make_jvp = unary_to_nary(core.make_jvp)


def _pulled(fun, x):
    """(value, cotangent of x) for a function whose value is one real number, in an array of any shape."""
    pull, y = core.make_vjp(fun, x)
    if vspace(y).size != 1 or not core.is_inexact(y):
        raise TypeError("grad: the function's value is not one real number")
    return y, pull(vspace(y).ones())


@unary_to_nary
def grad(fun, x):
    """
    Returns a function which gives the gradient of fun by its argument number argnum.
    """
    return _pulled(fun, x)[1]


@unary_to_nary
def value_and_grad(fun, x):
    return _pulled(fun, x)


@unary_to_nary
def elementwise_grad(fun, x):
    pull, y = core.make_vjp(fun, x)
    return pull(vspace(y).ones())


@unary_to_nary
def deriv(fun, x):
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun, x):
    return pa.jacrev(fun)(x)


@unary_to_nary
def hessian(fun, x):
    return pa.jacrev(pa.jacrev(fun))(x)


@unary_to_nary
def holomorphic_grad(fun, x):
    return pa.grad(lambda z: np.real(fun(z)))(x)


@unary_to_nary
def make_hvp(fun, x):
    return core.make_vjp(grad(fun), x)


def hessian_tensor_product(fun, argnum=0):
    slope = grad(fun, argnum)
    along = lambda *args, **kwargs: np.tensordot(slope(*args[:-1], **kwargs), args[-1], np.ndim(args[-1]))
    return grad(along, argnum)


def tensor_jacobian_product(fun, argnum=0):
    along = lambda *args, **kwargs: np.tensordot(args[-1], fun(*args[:-1], **kwargs), axes=np.ndim(args[-1]))
    return jacobian(along, argnum)


def make_ggnvp(f, g=lambda y: 0.5 * np.sum(y**2, axis=-1), f_argnum=0):
    """Products with Jᵀ H J, J the Jacobian of f and H the Hessian of g."""

    @unary_to_nary
    def product(f, x):
        y, pull = pa.vjp(f, x)
        return lambda v: pull(pa.hvp(g, y, pa.jvp(f, (x,), (v,))[1]))[0]

    return product(f, f_argnum)


@unary_to_nary
def grad_and_aux(fun, x):
    return pa.grad(fun, has_aux=True)(x)


def checkpoint(fun):
    return pa.checkpoint(fun)
