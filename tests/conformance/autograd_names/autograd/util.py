"""A checker that autograd keeps under its old name."""

from .test_util import check_grads


def quick_grad_check(fun, arg0, extra_args=(), kwargs=None):
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
