"""What operations do at values of reverse mode: they compute the result of the values, and record a node.

One text serves operations of any number of arrays, whichever are followed, with and without parameters; it is written out for
each (rules/written.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from numpy import float64

from ...dispatch import captured, check_runs
from ...dsl.avals import dtype_of
from ..rules.from_cards import differentiable, unfollowed
from ..rules.residuals import leaner
from ..rules.written import SIZE, SPACE, Names, written
from .mutation_checks import readers
from .nodes import Joint, Selection
from .roots import keeping_roots
from .rules import joint_reverse, rule_for
from .tape import Reverse, several_values

SPACE.update(
    partial=partial, float64=float64, dtype_of=dtype_of, Joint=Joint, check_runs=check_runs, several_values=several_values
)

TUPLE = "tuple([partial(rule, **params) for rule in {0}])"


def target(cls, generic, types):
    """The target of an operation at a class of `Reverse`."""
    mine = [t is cls for t in types]
    whose = mine.index(True)
    if not generic.dense_rules and not differentiable(generic):
        return captured(generic, whose, unfollowed(cls, generic, types))  # no roots: those have derivatives
    rules = _rules(generic, types, mine)
    return keeping_roots(cls, generic, whose, lambda look: _written(cls, generic, mine, rules, look))


Reverse.target = classmethod(target)


@dataclass
class Rules:
    """The rules of a node for small arrays. of_large: () -> (those for large ones, `leaner` of what they read), made when there
    are such; text: how a node has them, {0} for either; joint: whether they are one object for all arrays, which hands the
    cotangent on by itself."""

    small: object
    of_large: Callable
    text: str
    joint: bool


def _rules(generic, types, mine):
    """The reverse rules for the followed arrays."""
    card, places = generic.card, [i for i, m in enumerate(mine) if m]
    given = " if params else {0}" if generic.params or generic.keywords else None
    lean = lambda: leaner(generic, places, len(mine))
    if "accumulate" in card.rules and places == [0] and not generic.dense_rules:
        node = Selection(rule_for(generic, 0), card.rules["accumulate"], card.rules["add_to"])
        readers[node.accumulate] = generic.name
        return Rules(node, cache(lambda: (node, lean())), "{0}", joint=True)
    together = joint_reverse(generic, places)
    if together is not None:
        text = f"Joint(partial({{0}}, **params){given})" if given else "Joint({0})"
        return Rules(together, cache(lambda: (together, lean())), text, joint=True)
    # a Python number changes neither shape nor, if it is no complex one, dtype
    alone = len(mine) == 1 or len(mine) == 2 and not {int, float}.isdisjoint(types)
    same = card.partials is not None and alone and not given
    if len(places) == 1:
        rules, text = lambda large: rule_for(generic, places[0], same, large), "partial({0}, **params)"
    else:
        rules, text = lambda large: tuple([rule_for(generic, i, same, large) for i in places]), TUPLE
    return Rules(rules(False), cache(lambda: (rules(True), lean())), f"{text}{given}" if given else "{0}", joint=False)


def _written(cls, generic, mine, rules, look):
    """The target, written out. look: what is called instead where the run has roots, or None."""
    card, names, places = generic.card, Names(generic, len(mine)), [i for i, m in enumerate(mine) if m]
    values, alone, selects = names.below(mine), len(mine) == 1, isinstance(rules.small, Selection)
    usual = selects or alone or card.kind == "elementwise" or generic.arity == 2 and not names.params
    any_result = generic.dense_rules or card.kind == "opaque" or not usual or not names.few  # several, or integers
    append = partial(_append, names, places, rules)
    foreign = [f"    if x{i}.run is not r: raise r.foreign(x{i}.run)" for i in places[1:]]
    unwrap = [f"    v{i} = x{i}.value" for i in places]
    size = SIZE.format("v0" if alone or selects else "y")
    lines = [
        f"def written({names.given}):",
        f"    r = {names.arrays[places[0]]}.run",
        *([f"    check_runs(r, {names.all}, cls)"] if any_result else foreign),
        f"    if r.inner is not None: return r.inner.capture(generic, {names.all}, {'params' if names.params else '{}'})",
        *[f"    if r.rooted: return look({names.given})"] * (look is not None),
        *(unwrap if names.few else ["    vs = tuple([x.value if m else x for x, m in zip(xs, mine)])"]),
        *_result(generic, values, alone, selects),
        *(_node_of_any(values, append) if any_result else _node(generic, values, append, size)),
        *_required(card),
        "    return cls(y, r, len(r.tape) - 1)",
    ]
    return written(
        f"{generic.name}: at {cls.__name__}, followed {places}", "\n".join(lines),
        cls=cls, generic=generic, op=generic.spread, table=generic.table, required=card.collective, small=rules.small,
        of_large=rules.of_large, look=look, mine=mine, places=places,
    )  # fmt: skip


def _result(generic, values, alone, selects):
    """The lines that compute y, the result of the values."""
    if not (alone and values.params):
        return [f"    y = op({values.given})"]
    key = "type(v0)" if generic.arity == 1 else "(type(v0),)"
    known = "getattr(known, 'unlinked', known)" if selects else "known"
    return [  # as the operation's entry has it, whose parameters are complete already
        f"    known = table.get({key})",
        f"    y = op({values.given}) if known is None else {known}({values.given})",
    ]


def _append(names, places, rules, size, xs, y):
    """The statement that records a node. size: small or large; xs, y: what it keeps of arrays and result."""
    if not rules.joint and len(places) == 1:
        parent = f"{names.arrays[places[0]]}.index"
    elif names.few:
        parent = f"({', '.join([f'x{i}.index' for i in places])},)"
    else:
        parent = "tuple([xs[i].index for i in places])"
    kept = f"({xs}, params)" if isinstance(rules.small, Selection) else xs
    return f"r.append(({rules.text.format(size)}, {kept}, {y}, {parent}))"


def _node(generic, values, append, size):
    """The lines that record the node of an operation with one floating result: with what is read alone, where it is large."""
    converts = "dtype" in generic.params
    return [
        *["    if params['dtype'] is not None and dtype_of(y).kind not in 'fc': return y"] * converts,  # nothing to follow
        f"    if {size} >= LARGE:",
        "        large, lean = of_large()",
        f"        read, kept = lean({values.all}, y)",
        f"        {append('large', 'read', 'kept')}",
        f"    else: {append('small', values.all, 'y')}",
    ]


def _node_of_any(values, append):
    """The lines that record the node of an operation with any results: none for integers, one more for each of several."""
    return [
        "    several = isinstance(y, tuple)",
        "    if not several and dtype_of(y).kind not in 'fc': return y",
        "    large, lean = of_large()",
        f"    read, kept = lean({values.all}, y)",
        f"    {append('large', 'read', 'kept')}",
        "    if several: return several_values(cls, r, y)",
    ]


def _required(card):
    """The line that notes that the node is walked even where its cotangent is zero."""
    always = "" if card.collective is True else "if required(params): "
    return [f"    {always}r.required.append(len(r.tape) - 1)"] * bool(card.collective)
