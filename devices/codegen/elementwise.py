"""Elementwise operations as C expressions: the dtypes their arguments are brought to, and the card's expression in them."""

import functools
import re
from typing import Any

import numpy as np

from ...dispatch import isa
from ...dsl.avals import is_number
from ...dsl.ir.programs import Var
from .text.scalars import Unsupported, cast, code, ctype

NOT_UFUNCS = ("where", "real", "imag", "conj", "angle", "astype", "stop_gradient", "expit", "sinc")
COST = {"exp": 15, "log": 15, "pow": 40, "divide": 9, "sqrt": 9}  # in additions; other functions count FUNCTION
FUNCTION = 20


def template(card, kind):
    """A card's C expression for arguments of this kind of dtype. Raises Unsupported."""
    given = card.c
    if isinstance(given, dict):
        given = next((text for kinds, text in given.items() if kind in kinds), None)
    if given is None:
        raise Unsupported(f"{card.name} has no C expression for kind {kind}")
    return given


CHEAP = (
    "maximum", "minimum", "abs", "sign", "isnan", "isfinite", "isinf", "floor", "rint", "unless_zero", "select", "equal",
    "!equal", "nonzero", "!nonzero",
)  # fmt: skip


def cost(op):
    """What an element costs, in additions."""
    given = op.card.c
    text = given if isinstance(given, str) else next(iter(given.values()), "") if given else ""
    word = text.partition("(")[0]
    if "(" not in text or word in CHEAP:
        return 9 if "/" in text else 1
    return COST.get(word, FUNCTION)


def loop_dtypes(equation):
    """The dtypes in which an elementwise equation computes: of its arguments, and of its result. Raises Unsupported."""
    op, out = equation.op, equation.outputs[0].aval.dtype
    given = [_type_of(v) for v in equation.inputs]
    name = op.card.kernel or op.card.name
    if op.card.name == "where":
        return [np.dtype(bool), out, out], out
    ufunc = None if op.card.name in NOT_UFUNCS else getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        resolved = _resolved(ufunc, tuple(given))
        return list(resolved[:-1]), resolved[-1]
    if op.card.name in ("astype", "stop_gradient", "real", "imag", "conj"):
        dtype = given[0] if isinstance(given[0], np.dtype) else out
        if op.card.name == "astype":
            return [out], out
        return [dtype], out
    if op.card.name == "angle":
        return [out if given[0] is float or given[0].kind != "c" else given[0]], out
    return [out] * len(given), out


@functools.lru_cache(4096)
def _resolved(ufunc, given):
    try:
        return ufunc.resolve_dtypes((*given, None))
    except (TypeError, ValueError) as error:
        raise Unsupported(str(error)) from None


def _type_of(v):
    if isinstance(v, Var):
        return v.aval.dtype
    if type(v) in (int, float, complex):
        return type(v)
    if not is_number(v):
        raise Unsupported(f"an argument {v!r}")
    return np.dtype(type(v)) if isa(v, np.generic) else np.dtype(bool)


ARGUMENT = re.compile(r"⟦(\d+)⟧")
# powers by multiplications: of no larger error than a vector function, with over- and underflow where the result has it
PRODUCTS = {2: "{0} * {0}", 3: "{0} * {0} * {0}", 4: "({0} * {0}) * ({0} * {0})", 6: "({0} * {0} * {0}) * ({0} * {0} * {0})"}


def expression(equation, functions, operand):
    """An elementwise equation as C text of its result's dtype.

    operand: function(position, dtype) -> C text of that argument in that dtype. Raises Unsupported.
    """
    found = functions.patterns.get(id(equation))
    if found is None:  # a program is gone through several times before it is written
        found = functions.patterns[id(equation)] = (*_pattern(equation, functions), equation)
    parts: Any
    wanted, parts, _ = found
    given = [operand(i, dtype) for i, dtype in enumerate(wanted)]
    return "".join([given[part] if type(part) is int else part for part in parts])


def _pattern(equation, functions):
    """(dtypes of the arguments, the text in parts: strings, and positions of arguments)."""
    wanted, made = loop_dtypes(equation)
    card, out = equation.op.card, equation.outputs[0].aval.dtype
    if equation.params.get("device") is not None or equation.params.get("order", 1) != 1:
        raise Unsupported(f"{card.name} with these parameters")
    leader = wanted[1] if card.name == "where" else wanted[0]
    if any(code(d) != code(leader) for d in wanted) and card.name not in ("where", "ldexp"):
        raise Unsupported(f"{card.name} of different dtypes")
    if card.name == "power" and leader.kind == "i" and not _not_negative(equation.inputs[1]):
        raise Unsupported("powers of integers, whose exponents may be negative")
    wanted = [np.dtype(np.int64) if card.name == "ldexp" and i == 1 else d for i, d in enumerate(wanted)]
    given = [f"⟦{i}⟧" for i in range(len(wanted))]
    text = functions.expression(template(card, leader.kind), leader, given)
    if card.name == "power" and leader.kind in "iuf":
        text = str(PRODUCTS.get(equation.inputs[1], text)).format(given[0])
    if card.name != "astype" and out.kind != "b":
        if made.kind in "iu" or (leader.kind == "f" and made == leader and leader.char == "f"):
            text = f"({ctype(made)})({text})"
        text = cast(f"({text})", made, out)
    return wanted, [int(part) if k % 2 else part for k, part in enumerate(ARGUMENT.split(text))]


def _not_negative(v):
    return (isa(v, (int, np.integer)) and v >= 0) or (isinstance(v, Var) and v.aval.dtype.kind in "ub")
