"""From the facts on a card to the formula of a derivative, as text: what a tangent or cotangent is multiplied with.

One formula serves both modes, one place and all, and small and large arrays; it is made part of the functions that are written
out for an operation (written.py).
"""

from ...dispatch import MissingRuleError
from ...dsl import add, negative, subtract
from ...dsl.ops.arithmetic import masked_product
from .buffer_reuse import computed
from .nan_safe import product
from .products_in_place import masked_over, over
from .residuals import LARGE, added, elements
from .written import SPACE

SPACE.update(
    add=add, subtract=subtract, negative=negative, masked_product=masked_product, product=product, computed=computed,
    added=added, masked_over=masked_over, over=over, elements=elements, LARGE=LARGE,
)  # fmt: skip


def entry(entries, i, card):
    """Entry i of a list with one entry per array."""
    if i >= len(entries):
        raise MissingRuleError(
            f"{card.name} has derivative rules for {len(entries)} array(s) and none for array {i}; its card needs one "
            "for each array, None where there is no derivative"
        )
    return entries[i]


def term(generic, i, t, y, names, made, large=False):
    """The text of t times the partial derivative by array i, None where there is none. names: of the arrays; t, y: how a
    (co)tangent and the result are spelt. made: gets what the text names beside SPACE. large: whether arrays may be large, whose
    memory is used again."""
    card = generic.card
    slope = entry(card.partials, i, card)
    if slope is None or slope == 1:
        return slope and t
    if slope == -1:
        return f"computed(negative, {t})" if large else f"negative({t})"
    made[f"slope{i}"] = slope
    value = f"slope{i}({y}, {names.given})"
    if card.singular:
        return f"{'masked_over' if large else 'masked_product'}({t}, {value})"
    at = None if large else returned(slope, len(names.arrays))
    times = f"(over if elements({t}) >= LARGE else product.times)" if large else "product.times"
    return f"{times}({t}, {value if at is None else names.arrays[at]})"


def tangent(generic, ts, y, names, made, large=False):
    """The text of the tangent of the result, None where the card has no formula for it. ts: how the tangents of the arrays are
    spelt, None for those not followed; the rest as for `term`."""
    card = generic.card
    if "jvp" in card.rules:
        made["rule"] = card.rules["jvp"]
        return f"rule(({', '.join(map(str, ts))},), {y}, {names.given})"
    if card.partials is not None:
        return _sum_of_terms(generic, ts, y, names, made, large)
    made["op"] = generic.spread
    if card.kind == "bilinear":
        parts = [f"op({names.call([*names.arrays[:i], t, *names.arrays[i + 1 :]])})" for i, t in enumerate(ts) if t]
        return parts[0] if len(parts) == 1 else f"add({', '.join(parts)})" if parts else None
    if (card.kind == "linear" or card.linear) and len(ts) == 1:
        return f"op({names.call(ts)})"
    return None


def _sum_of_terms(generic, ts, y, names, made, large):
    text, new = None, False  # new: whether it is an array that the text makes
    for i, t in enumerate(ts):
        part = t and term(generic, i, t, y, names, made, large)
        if not part:
            continue
        slope = generic.card.partials[i]
        if text is None:
            text, new = part, slope != 1
            continue
        if slope in (1, -1):
            join, part = "add" if slope == 1 else "subtract", t
            text = f"computed({join}, {text}, {part})" if large else f"{join}({text}, {part})"
        else:
            text = f"added({text}, {part}, {new})" if large else f"add({text}, {part})"
        new = True
    return text


class _Itself:
    """A value that answers no question."""

    def refuse(self, *args):
        raise TypeError("a stand-in for an array has no properties")

    __bool__ = __eq__ = __ne__ = __hash__ = __repr__ = __format__ = refuse


def returned(slope, count):
    """The place of the array that a function (y, *xs) of `count` arrays simply returns; None for others.

    It is tried with values that answer no question, if it names nothing else that it could do something with.
    """
    code = getattr(slope, "__code__", None)
    if code is None or code.co_names or code.co_freevars or code.co_argcount != 1 + count or count == 1:
        return None
    y, *xs = [_Itself() for _ in range(1 + count)]
    try:
        found = slope(y, *xs)
    except Exception:
        return None
    return next((i for i, x in enumerate(xs) if x is found), None)
