"""What a checkpoint keeps beside the function's arguments: policies for `polyad.checkpoint(f, policy=…)`.

A policy is a function of an operation and its parameters (a dict) that says whether the operation's result is kept and not
computed again. None keeps nothing.

    policies.everything              nothing is computed again, as without a checkpoint
    policies.dots                    products: matmul, einsum, convolution and what is made of them
    policies.operations("exp", …)    results of these operations, given by name or as functions
    policies.names("hidden", …)      values marked by `checkpoint_name(x, "hidden")`
    policies.either(p, q, …)         what any of several keeps
"""

from ...dispatch import DTypeError, RegistrationError, describe
from ...dsl import elementwise
from ...dsl import operations as known
from ...dsl.card import library_name
from ...dsl.samples import case, normal
from ..inputs import check_callable


@elementwise(partials=[1], kernel=None, numpy=(), samples=[case(normal(3), name="x"), case(normal(2, 3))])
def checkpoint_name(x, /, name=""):
    """x itself, marked for checkpoints: one with `policies.names(name)` keeps the result that x is.

    x: array of any shape and dtype. name: text. Raises DTypeError.

    >>> import numpy as np, polyad as pa
    >>> @pa.checkpoint(policy=pa.policies.names("hidden"))
    ... def f(x):
    ...     return pa.sin(pa.checkpoint_name(pa.exp(x), "hidden"))
    >>> bool(pa.grad(f)(0.0) == pa.cos(1.0))
    True
    """


@checkpoint_name.method
def checkpoint_name_identity(x: object, /, name=""):
    if not isinstance(name, str):
        raise DTypeError(f"checkpoint_name: the name is a text, not {describe(name)}")
    return x


def everything(op, params):
    """Keep all results."""
    return True


def dots(op, params):
    """Keep products of matrices: operations that are linear in each of two arrays, such as matmul and conv, and einsum."""
    return op.card.kind == "bilinear" or library_name(op) in ("einsum", "contract", "tensordot")


def operations(*ops):
    """Keep the results of these operations, given as functions or by name. Raises RegistrationError."""
    chosen = {_operation(op) for op in ops}
    return lambda op, params: op in chosen


def _operation(op):
    found = known.get(op) if isinstance(op, str) else op
    card = getattr(found, "card", None)
    if card is None or card.body is not None:
        what = "no operation" if card is None else "made of other operations, which are what a checkpoint sees"
        raise RegistrationError(f"policies.operations: {op!r} is {what}; name operations such as 'matmul' or 'exp'")
    return found


def names(*marks):
    """Keep the values marked by `checkpoint_name` with these names."""
    if not all(isinstance(mark, str) for mark in marks):
        raise RegistrationError(f"policies.names: names are text, as given to checkpoint_name, not {marks!r}")
    return lambda op, params: op is checkpoint_name and params["name"] in marks


def either(*policies):
    """Keep what any of several policies keeps."""
    for policy in policies:
        check_callable("policies.either: a policy", policy, "of an operation and its parameters, such as polyad.policies.dots")
    return lambda op, params: any(policy(op, params) for policy in policies)
