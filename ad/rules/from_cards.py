"""From cards to derivative rules: what a card says (partials, linearity, jvp, vjp) as functions the two layers call.

Every operation ends up with `jvp(dxs, y, *xs, **params)` and one `vjp(ct, y, *xs, **params)` per array, or one for all of
them; no operation is known here by name.
"""

from functools import partial
from typing import Any

from ...dispatch import Layer, MissingRuleError, check_runs, describe, snapshot
from ...dsl.ops.create import zeros_like
from .formulas import entry, tangent, term
from .projection import match_cotangent
from .written import MAX_NAMED, Names, written


def differentiable(generic):
    """Return whether the card admits derivatives at all."""
    return generic.card.differentiable


def constant(x):
    """x, a result that its transformation does not follow; an error if it belongs to one that has ended."""
    if Layer in type(x).__mro__ and x.run.closed:
        raise x.run.leaked()
    return x


def unshared(y, xs):
    """The result of an operation without derivative, apart from the values it came from, which are kept elsewhere."""
    if isinstance(y, Layer):
        return snapshot(y)
    return y.copy() if hasattr(y, "copy") and any([y is x for x in xs]) else y


def unfollowed(cls, generic, types):
    """The target of an operation without derivative for values of a layer: its result is a constant."""
    spread, mine = generic.spread, [t is cls for t in types]
    whose = mine.index(True)

    def run(*args, **params):
        check_runs(args[whose].run, args, cls)
        xs = [a.below if m else a for a, m in zip(args, mine, strict=True)]
        return unshared(spread(*xs, **params), xs)

    return run


def jvp_rule(generic):
    """The forward rule of an operation. Raises MissingRuleError if its card implies none."""
    card = generic.card
    if "jvp" in card.rules:
        return card.rules["jvp"]
    if card.partials is not None or card.kind == "bilinear":
        return _jvp_by_formula(generic)
    if card.linear is not None or card.kind == "linear":
        return _jvp_linear(generic)
    raise MissingRuleError(
        f"{card.name} has no forward derivative; add @{card.name}.rule('jvp') under its declaration, or say "
        "differentiable=False"
    )


def _jvp_by_formula(generic):
    rules = {}  # which tangents there are -> what is written out for these

    def jvp(dxs, y, *xs, **params):
        there = tuple([dx is not None for dx in dxs])
        rule = rules.get(there)
        if rule is None:
            names, made = Names(generic, len(xs)), {}
            text = tangent(generic, [f"dxs[{i}]" if dx else None for i, dx in enumerate(there)], "y", names, made, large=True)
            source = f"def written(dxs, y, {names.given}):\n    return {text}"
            rule = rules[there] = written(f"{generic.name}: forward rule", source, **made)
        return rule(dxs, y, *xs, **params)

    return jvp


def _jvp_linear(generic):
    spread, positions = generic.spread, generic.card.linear

    def jvp(dxs, y, *xs, **params):
        where = range(len(xs)) if positions is None else positions
        if all(dxs[i] is None for i in where):
            return None
        args = list(xs)
        for i in where:
            args[i] = zeros_like(xs[i]) if dxs[i] is None else dxs[i]
        return spread(*args, **params)

    return jvp


def vjp_rule(generic, i, large=False, matches=False) -> Any:
    """The reverse rule of an operation for its array i, or None if the card has only a forward rule. large: of arrays that may
    be large, whose memory is used again; matches: with its result brought to the array's space."""
    card, rule = generic.card, _listed(generic, i)
    if rule is None and card.partials is None:
        return None
    if rule is nothing or rule is None and entry(card.partials, i, card) is None:
        return nothing
    if rule is not None and not matches:
        return rule
    names, made = Names(generic, MAX_NAMED + i + 1 if generic.arity is None else generic.arity), {}
    if rule is None:
        text = term(generic, i, "ct", "y", names, made, large)
    else:
        made["rule"], text = rule, f"rule(ct, y, {names.given})"
    x, lines = names.arrays[i], [f"def written(ct, y, {names.given}):"]
    if matches:
        made["name"] = generic.name
        lines += [
            f"    c = {text}",
            f"    if type(c) is ndarray is type({x}) and c.shape == {x}.shape and c.dtype is {x}.dtype:",
            "        return c",
            f"    return match_cotangent(c, y, {x}, name, {i})",
        ]
    else:
        lines.append(f"    return {text}")
    return written(f"{generic.name}: reverse rule for {x}", "\n".join(lines), **made)


def _listed(generic, i):
    """The rule for array i that is written on the card, or None."""
    card = generic.card
    together = card.rules.get("vjp_all")
    if together is not None:
        return lambda ct, y, *xs, **params: together(ct, y, *xs, **params)[i]
    for name in ("vjp", "transpose"):
        rules = card.rules.get(name)
        if rules is not None:
            return _pick(rules, i, card, card.linear if name == "transpose" else None)
    return None


def joint_rule(generic, places):
    """The one reverse rule of a card for all its arrays, with a list of cotangents for those at `places`, brought to
    their spaces; None if the card has a rule for each array."""
    rule, name = generic.card.rules.get("vjp_all"), generic.name
    if rule is None:
        return None

    def pull(ct, y, *xs, **params):
        found = rule(ct, y, *xs, **params)
        if not isinstance(found, (tuple, list)) or len(found) != len(xs):
            what = f"{len(found)} cotangent(s)" if isinstance(found, (tuple, list)) else describe(found)
            raise MissingRuleError(
                f"{name}: its rule vjp_all returned {what} for {len(xs)} array(s); it must return one for each, in a tuple "
                "or list, None where there is no derivative"
            )
        return [match_cotangent(found[i], y, xs[i], name, i) for i in places]

    return pull


def has_forward(generic):
    """Return whether the card has or implies a forward rule."""
    card = generic.card
    return "jvp" in card.rules or card.partials is not None or card.linear is not None or card.kind in ("linear", "bilinear")


def has_reverse(generic):
    """Return whether the card has a reverse rule of its own, or partials."""
    return generic.card.partials is not None or not {"vjp", "vjp_all", "transpose"}.isdisjoint(generic.card.rules)


def reads_values(generic, i):
    """Return whether the reverse rule for array i reads numbers of the arguments or the result, not only shapes and dtypes."""
    card = generic.card
    if card.partials is not None and i < len(card.partials):
        return card.partials[i] not in (1, -1)
    if card.kind == "linear" and card.linear is None:
        return False
    return card.kind != "linear" or len(generic.arrays) > 1 or generic.variadic is not None


def _pick(rules, i, card, positions):
    """The rule for array i from a card's list (or function of i). positions: the arrays the list is for, None: all."""
    if positions is not None and i not in positions:
        return nothing
    if callable(rules):
        return partial(rules, i)
    at = i if positions is None else list(positions).index(i)
    return nothing if entry(rules, at, card) is None else rules[at]


def nothing(ct, y, *xs, **params):
    """The reverse rule for an argument without derivative."""
    return None
