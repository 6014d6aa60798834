"""The forward rule of an operation: of its card, by the types of the arguments, or from reverse rules, transposed."""

from ...dispatch import MissingRuleError
from ...dsl import add
from ..reverse.rules import reverse_by_type, rule_for, transpose
from ..rules.by_type import forward_typed, opted_out
from ..rules.from_cards import differentiable, has_reverse, joint_rule, jvp_rule
from ..rules.projection import NoTangent


def forward_rule(generic):
    """The forward rule of an operation: by the types of what it meets where there are such rules, else the card's."""
    return _forward_by_type(generic) if generic.dense_rules else _forward_of_card(generic)


def _forward_by_type(generic):
    def jvp(dxs, y, *xs, **params):
        rule, reverse = forward_typed(generic, xs)
        found = NotImplemented if rule is None or rule is opted_out else rule(dxs, y, *xs, **params)
        if found is not NotImplemented:
            return None if found is NoTangent else found
        if rule is None and reverse is None or rule is not opted_out and rule is not None:
            return _forward_of_card(generic)(dxs, y, *xs, **params) if differentiable(generic) else None
        return from_reverse(generic, lambda places: reverse_by_type(generic, places))(dxs, y, *xs, **params)

    return jvp


def _forward_of_card(generic):
    """The forward rule that the card has; where it has reverse rules only, those, linear in ct, transposed."""
    try:
        return jvp_rule(generic)
    except MissingRuleError:
        if not has_reverse(generic):
            raise
    return from_reverse(generic, lambda places: joint_rule(generic, places))


def from_reverse(generic, joint):
    """The forward rule that the reverse rules give. joint: function of places -> one rule for the arrays there, or None."""

    def jvp(dxs, y, *xs, **params):
        if not isinstance(y, tuple):
            return _pushed(generic, dxs, y, xs, params, y, lambda c: c, joint)
        alone = lambda j: lambda c: tuple([c if k == j else None for k in range(len(y))])
        return tuple([_pushed(generic, dxs, part, xs, params, y, alone(j), joint) for j, part in enumerate(y)])

    return jvp


def _pushed(generic, dxs, result, xs, params, y, as_cotangent, joint):
    """The tangent of one result from the reverse rules, transposed. as_cotangent: of all results, from that of this one."""
    dy, places = None, [i for i, dx in enumerate(dxs) if dx is not None]
    together = joint(places)
    if together is not None:
        pull = lambda c: tuple(together(as_cotangent(c), y, *xs, **params))
        return transpose(f"transpose of {generic.name}", pull, [result], [dxs[i] for i in places])[0]
    for i, dx in enumerate(dxs):
        if dx is not None:
            pull = lambda c, i=i: rule_for(generic, i)(as_cotangent(c), y, *xs, **params)
            (part,) = transpose(f"transpose of {generic.name}", pull, [result], dx)
            dy = part if dy is None else dy if part is None else add(dy, part)
    return dy
