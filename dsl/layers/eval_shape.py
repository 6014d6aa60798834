"""`eval_shape`: shapes and dtypes of results without computing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dispatch import Array, DTypeError, describe, tree
from ..avals import Aval, aval_of, dtype_of, infer, is_number
from ..card import Card
from ..ir.programs import Var
from .tracing import traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import P


def eval_shape(f: Callable[P, Any], *args: Any, **params: Any) -> Any:
    """Shapes and dtypes that a function or an operation would give, without computing it.

    f: function of arrays or trees, or an operation. args: its arguments, in the place of arrays also `Aval`s, or whatever
    has a shape and a dtype. params: keyword arguments: arrays or trees of a function, parameters of an operation.
    Returns the tree of f's results with an `Aval`, of attributes `shape` and `dtype`, for each array.
    Raises ShapeError, MissingRuleError, DTypeError for what is no array of numbers, ConcreteValueError where f asks for
    values.

    >>> import numpy as np, polyad as pa
    >>> print(pa.eval_shape(pa.matmul, np.ones((2, 3)), np.ones((3, 4))))
    float64[2,4]
    >>> weights = {"w": pa.Aval((3, 4), np.dtype("float32"))}
    >>> y = pa.eval_shape(lambda p, x: {"y": pa.tanh(x @ p["w"])}, weights, np.ones((2, 3), np.float32))
    >>> print(y["y"])
    float32[2,4]
    """
    card = getattr(f, "card", None)
    if isinstance(card, Card) and card.kind != "composite":
        return infer(f, [x if is_number(x) else aval_of(x) for x in args], params)
    if not callable(f):
        raise DTypeError(f"eval_shape: {describe(f)} is no function; give one of arrays or trees, or an operation")
    name, keywords = getattr(f, "__name__", type(f).__name__).strip("<>"), {} if isinstance(card, Card) else params
    call = lambda xs, given: f(*xs, **(given or params))
    program = traced(f"eval_shape({name})", name, call, tree.map(_abstract, (args, keywords)))
    return tree.unflatten(program.out_structure, [v.aval if isinstance(v, Var) else aval_of(v) for v in program.outputs])


def _abstract(x):
    """A leaf as a trace takes it: what describes an array of another library as an Aval."""
    if isinstance(x, (Array, Aval)) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return Aval(tuple(x.shape), dtype_of(x))
