"""Elementwise operations as C expressions: the dtypes their arguments are brought to, and the card's expression in them."""

import functools

import numpy as np

from ....dispatch import isa
from ....dsl.avals import is_number
from ....dsl.ir.programs import Var
from ...lowering import record
from ..text.expressions import Hole, c
from ..text.math_functions import COSTS, FUNCTION, WORD
from ..text.scalars import Unsupported, cast, code, converted, ctype, literal


def template(card, kind):
    """A card's C expression for arguments of this kind of dtype. Raises Unsupported."""
    given = card.c
    if isinstance(given, dict):
        given = next((text for kinds, text in given.items() if kind in kinds), None)
    if given is None:
        raise Unsupported(f"{card.name} has no C expression for kind {kind}")
    return given


def cost(op):
    """Estimate what an element costs, in additions: as much as the dearest word of the expression."""
    given = op.card.c
    text = given if isinstance(given, str) else next(iter(given.values()), "") if given else ""
    return max([9 if "/" in text else 1, *[COSTS.get(word, FUNCTION) for word in WORD.findall(text)]])


def loop_dtypes(equation):
    """The dtypes in which an elementwise equation computes: of its arguments, and of its result. Raises Unsupported."""
    op, out = equation.op, equation.outputs[0].aval.dtype
    given = [_type_of(v) for v in equation.inputs]
    own = record(equation).dtypes
    if own is not None:
        return own(given, out)
    ufunc = getattr(np, op.card.kernel, None) if op.card.kernel else None
    if isinstance(ufunc, np.ufunc):
        wanted = resolved(ufunc, tuple(given))
        return list(wanted[:-1]), wanted[-1]
    return [common(given, out)] * len(given), out


def common(given, out):
    """The dtype in which arguments of these dtypes, or types of Python numbers, are taken for a result of dtype `out`."""
    dtype = np.result_type(*[x(0) if isinstance(x, type) else x for x in given])
    if all([isinstance(x, type) for x in given]) or dtype.kind != "c" and out.kind != "b":
        return out
    return dtype


@functools.lru_cache(4096)
def resolved(ufunc, given):
    """The dtypes of a ufunc of NumPy's for arguments of these, its result's last. Raises Unsupported."""
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


def expression(equation, functions, operand):
    """The expression of an elementwise equation, of its result's dtype.

    operand: function(position, dtype) -> that argument in that dtype. Raises Unsupported.
    """
    found = functions.patterns.get(id(equation))
    if found is None:  # a program is gone through several times before it is written
        found = functions.patterns[id(equation)] = (*_pattern(equation, functions), equation)
    wanted, pattern, _ = found
    return pattern.filled([operand(i, dtype) for i, dtype in enumerate(wanted)])


def _pattern(equation, functions):
    """(dtypes of the arguments, the expression with Holes for them)."""
    wanted, made = loop_dtypes(equation)
    lowered, card, out = record(equation), equation.op.card, equation.outputs[0].aval.dtype
    leader = wanted[lowered.leader or 0]
    if lowered.leader is None and any(code(d) != code(leader) for d in wanted):
        raise Unsupported(f"{card.name} of different dtypes")
    text = lowered.template(equation, leader) if lowered.template else None
    text = template(card, leader.kind) if text is None else text
    numbers = {} if lowered.template else _numbers(equation, text, leader)
    made_of = functions.expression(text, leader, [Hole(i) for i in range(len(wanted))], numbers)
    if out.kind != "b" and not (text == "{0}" and wanted[0] == out):
        if made.kind in "iu" or (leader.kind == "f" and made == leader and leader.char == "f"):
            made_of = converted(ctype(made), made_of)
        made_of = cast(c("({})", made_of), made, out)
    return wanted, made_of


def _numbers(e, text, dtype):
    """The parameters that an expression names, as C text. Raises Unsupported where it does not name one that matters."""
    found = {}
    for name, value in e.params.items():
        if f"{{{name}}}" in text:
            found[name] = literal(value, dtype)
        elif value is not e.op.generic.signature.parameters[name].default:
            raise Unsupported(f"{e.op.card.name} with {name}={value!r}, which its C does not name as {{{name}}}")
    return found
