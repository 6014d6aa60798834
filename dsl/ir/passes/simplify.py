"""Algebraic simplification: identities that hold for every number, NaN, infinities and signed zeros included."""

from ...avals import is_number
from ...ops.shape import full_permutation
from ..programs import Var
from .rewrite_rules import Rules, again, equals, fits

RULES = Rules()
rule = RULES.rule


def simplify(program):
    """The program with x·1, x/1, x-0, --x, x**2, double transposes and reshapes and the like replaced."""
    return RULES(program)


@rule("multiply")
def multiply(e, c):
    x, y = e.inputs
    for a, b in ((x, y), (y, x)):
        if fits(e, a) and equals(c.value(b), 1.0):
            return a
        if fits(e, a) and equals(c.value(b), -1.0) and e.outputs[0].aval.dtype.kind == "f":
            return again(e, "negative", a)
    return again(e, "square", x) if x is y and fits(e, x) else None


@rule("masked_product")
def masked_product(e, c):
    x, y = e.inputs
    value = c.value(x)
    return None if value is None or value == 0 else multiplied(e, x, y, c)


def multiplied(e, x, y, c):
    """x · y for a masked product whose x is not zero anywhere."""
    product = again(e, "multiply", x, y)
    simpler = multiply(product, c)
    return product if simpler is None else simpler


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
