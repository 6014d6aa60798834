"""The tape under `debug_mutation`: the arrays that a rule reads are checked before it reads them."""

import weakref
from functools import partial

from ...dsl.mutation_checks import check_sealed, sealed
from .nodes import PART, Joint, Selection

readers = weakref.WeakKeyDictionary()  # reverse rule -> its operation, for rules that read the numbers they are given


def watched(tape):
    """`tape.append` under `debug_mutation`: the arrays that a rule reads are checked before it reads them."""

    def append(node):
        if node is not None and node[0] is not PART:
            vjp, xs, y, parent = node
            used, results = xs[0] if isinstance(vjp, Selection) else xs, y if isinstance(y, tuple) else (y,)
            seals = sealed((*used, *results))
            if isinstance(vjp, (Joint, Selection)):
                vjp = vjp.through(lambda rule: _checked(rule, seals))
            else:
                vjp = tuple([_checked(rule, seals) for rule in vjp]) if isinstance(vjp, tuple) else _checked(vjp, seals)
            node = (vjp, xs, y, parent)
        tape.append(node)

    return append


def _checked(rule, seals):
    name = readers.get(rule.func if isinstance(rule, partial) else rule)
    if name is None or not seals:
        return rule

    def check(*args, **params):
        check_sealed(seals, name, "its derivative")
        return rule(*args, **params)

    check.__wrapped__ = rule
    return check
