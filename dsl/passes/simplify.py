"""Algebraic simplification: identities that hold for every number, NaN, infinities and signed zeros included."""

import numpy as np

from ..avals import is_number
from ..ir import Equation, Var
from ..ops.indexing import Slice
from ..ops.shape import full_permutation
from .rewriting import replaced, single

RULES = {}


def simplify(program):
    """The program with x·1, x/1, x-0, --x, x**2, double transposes and reshapes, whole slices and the like replaced."""
    context = Context(program)

    def rewrite(e):
        rule = RULES.get(e.op.card.name) if len(e.outputs) == 1 else None
        answer = rule(e, context) if rule is not None else None
        if isinstance(answer, Var) or (answer is not None and not isinstance(answer, Equation)):
            answer = [answer]
        if not isinstance(answer, list):
            context.makers.update(dict.fromkeys(e.outputs, answer or e))
        return answer

    return replaced(program, rewrite)


class Context:
    """What is known of a program's values: constants, and the equations so far."""

    def __init__(self, program):
        self.constants, self.makers = dict(program.constants), {}

    def value(self, v):
        """The number that an atom is, or that all elements of a constant are; None for others."""
        if not isinstance(v, Var):
            return v
        return single(self.constants[v]) if v in self.constants else None

    def made_by(self, v, name):
        """The equation that makes v, if it is of this operation."""
        e = self.makers.get(v) if isinstance(v, Var) else None
        return e if e is not None and e.op.card.name == name else None


def rule(*names):
    def register(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def operations(name):
    from ..card import operations as table

    return table[name]


def fits(e, v):
    """Whether the result of an equation can be v itself."""
    return isinstance(v, Var) and v.aval == e.outputs[0].aval


def equals(value, number):
    """Whether a known value is this number, its sign included."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return False
    return value == number and np.signbit(np.real(value)) == np.signbit(number) and np.imag(value) == 0


def again(e, name, *inputs, **params):
    """Another operation in the place of e."""
    return Equation(operations(name), list(inputs), params, e.outputs)


@rule("multiply")
def multiply(e, c):
    x, y = e.inputs
    for a, b in ((x, y), (y, x)):
        if fits(e, a) and equals(c.value(b), 1.0):
            return a
        if fits(e, a) and equals(c.value(b), -1.0) and e.outputs[0].aval.dtype.kind == "f":
            return again(e, "negative", a)
    return again(e, "square", x) if x is y and fits(e, x) else None


@rule("divide")
def divide(e, c):
    x, y = e.inputs
    return x if fits(e, x) and equals(c.value(y), 1.0) else None


@rule("add")
def add(e, c):
    x, y = e.inputs
    for a, b in ((x, y), (y, x)):
        if fits(e, a) and (equals(c.value(b), -0.0) or (a.aval.dtype.kind in "iu" and equals(c.value(b), 0))):
            return a
        inner = c.made_by(b, "negative")
        if inner and isinstance(a, Var) and a.aval.dtype == inner.inputs[0].aval.dtype and a.aval.dtype.kind != "b":
            return again(e, "subtract", a, inner.inputs[0])
    return None


@rule("subtract")
def subtract(e, c):
    x, y = e.inputs
    if fits(e, x) and equals(c.value(y), 0.0):
        return x
    inner = c.made_by(y, "negative")
    if inner and isinstance(x, Var) and x.aval.dtype == inner.inputs[0].aval.dtype:
        return again(e, "add", x, inner.inputs[0])
    return None


@rule("negative")
def negative(e, c):
    inner = c.made_by(e.inputs[0], "negative")
    return inner.inputs[0] if inner and fits(e, inner.inputs[0]) else None


@rule("power")
def power(e, c):
    x, y = e.inputs
    if not is_number(y) or not fits(e, x) or x.aval.dtype.kind not in "fc":
        return None
    return x if y == 1 else again(e, "square", x) if y == 2 else None


@rule("where")
def where(e, c):
    condition, x, y = e.inputs
    value = c.value(condition)
    taken = x if x is y else None if value is None else x if value else y
    return taken if taken is not None and fits(e, taken) else None


@rule("real", "conj", "positive")
def itself(e, c):
    x = e.inputs[0]
    return x if fits(e, x) and x.aval.dtype.kind != "c" or (fits(e, x) and e.op.card.name == "positive") else None


@rule("broadcast_to", "reshape", "astype")
def same_form(e, c):
    x, name = e.inputs[0], e.op.card.name
    if e.params.get("device") is not None:
        return None
    if fits(e, x):
        return x
    inner = c.made_by(x, name) if name != "astype" else None
    if inner is None:
        return None
    return inner.inputs[0] if fits(e, inner.inputs[0]) else again(e, name, inner.inputs[0], **e.params)


@rule("transpose")
def transpose(e, c):
    x = e.inputs[0]
    order = full_permutation("transpose", e.params.get("axes"), x.aval.ndim)
    if order == tuple(range(len(order))):
        return x
    inner = c.made_by(x, "transpose")
    if inner is None:
        return None
    first = full_permutation("transpose", inner.params.get("axes"), x.aval.ndim)
    both = tuple(first[a] for a in order)
    source = inner.inputs[0]
    return source if both == tuple(range(len(both))) else again(e, "transpose", source, axes=both)


@rule("index")
def index(e, c):
    x, spec = e.inputs[0], e.params["spec"]
    whole = all(part is Ellipsis or (isinstance(part, Slice) and part in _wholes(n)) for part, n in zip(spec, x.aval.shape))
    plain = len(e.inputs) == 1 and Ellipsis not in spec and len(spec) <= x.aval.ndim
    return x if plain and whole and fits(e, x) else None


def _wholes(n):
    return ((None, None, None), (0, None, None), (None, n, None), (0, n, None), (None, None, 1), (0, n, 1))
