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

NUMBERS = {  # Python's type of each kind of number
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, np.floating),
    complex: (complex, np.complexfloating),
}


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
    return [common(given, out, _promoted(op.card, op.generic, given, equation.params))] * len(given), out


def common(given, out, dtype):
    """The dtype in which arguments of these dtypes, or types of Python numbers, are taken for a result of dtype `out`, where
    NumPy's promotion says `dtype`."""
    whole = out.kind in "iu" and dtype.kind == "f"  # of numbers with fractions, as a shape rule says
    if all([isinstance(x, type) for x in given]) or dtype.kind != "c" and out.kind != "b" and not whole:
        return out
    return dtype


def promoted_dtypes(op, given, params):
    """(the dtype that NumPy's promotion says for arguments of these dtypes, or types of Python numbers, alone, that with the
    parameters): a parameter in the C counts as a Python number of its kind. Raises OverflowError for one that does not fit."""
    card = op.card
    alone, dtype = _promoted(card, op.generic, given, {}), _promoted(card, op.generic, given, params)
    computed = dtype.kind not in "iu" or isinstance(card.c, dict) and any([dtype.kind in kinds for kinds in card.c])
    for value in [params[name] for name, zero in _counted(card, op.generic, params, alone.kind) if type(zero) is int]:
        with np.errstate(all="ignore"):
            (dtype if computed else np.dtype(float)).type(int(value))
    return alone, dtype


def _promoted(card, generic, given, params):
    given = [x(0) if isinstance(x, type) else x for x in given]
    dtype = np.result_type(*given)
    zeros = [zero for name, zero in _counted(card, generic, params, dtype.kind)] if params else ()
    return np.result_type(*given, *zeros) if zeros else dtype


def _counted(card, generic, params, kind):
    """(name, a Python number of its kind) of each parameter that counts in the expression for arguments of this kind: one that
    it names, or another value than the default, for which it does not stand."""
    try:
        text = template(card, kind)
    except Unsupported:
        text = str(card.c)
    for name, value in params.items():
        place = f"{{{name}}}"
        if place in text or place in str(card.c) and value is not generic.signature.parameters[name].default:
            zero = next((python(0) for python, types in NUMBERS.items() if isa(value, types)), None)
            if zero is not None:
                yield name, zero


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
